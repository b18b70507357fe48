"""What crosses between a device and the server: frames, their codec, errors, close codes. Pure."""
