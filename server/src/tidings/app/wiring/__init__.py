"""Build the use cases from settings and engine clients."""
