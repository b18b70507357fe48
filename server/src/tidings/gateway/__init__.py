"""The WebSocket edge: frames come in, use cases are called, answers and pushes go out. Decides nothing itself."""
