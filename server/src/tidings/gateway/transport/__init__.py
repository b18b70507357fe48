"""Transport of WebSocket messages behind a port, so that the library underneath can be replaced by a setting.

Knows connections and bytes; what the messages mean is not known here.
"""
