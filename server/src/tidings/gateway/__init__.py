"""The WebSocket edge: receives frames, calls use cases, and sends answers and pushes."""
