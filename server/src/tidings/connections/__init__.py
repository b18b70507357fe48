"""Which device is connected to which gateway."""
