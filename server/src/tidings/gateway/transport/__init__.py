"""WebSocket transport with exchangeable libraries. It knows connections and bytes, not the meaning of messages."""
