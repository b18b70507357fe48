"""Other servers that Tidings is measured beside: how they are installed, started and loaded. Each is optional."""
