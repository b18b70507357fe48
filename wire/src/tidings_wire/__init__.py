"""The WebSocket protocol between devices and the server: frames, codec, errors, close codes. Without I/O."""
