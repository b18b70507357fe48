"""Broadcasts for the devices of a gateway: who looks at an inbox is told, at a moment of his own."""
