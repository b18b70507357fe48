"""The WebSocket edge: connections, what is said on them, and their orderly beginning and end."""
