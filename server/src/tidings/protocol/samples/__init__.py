"""Frames as they look on the wire, written out by hand: the types are held against them, not the other way round."""
