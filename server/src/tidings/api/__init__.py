"""The REST edge: translates between HTTP and the use cases, decides nothing."""
