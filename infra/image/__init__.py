"""Build the image, measure it, and start all processes in it."""
