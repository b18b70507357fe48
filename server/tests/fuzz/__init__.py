"""Frames that nobody would send, in great number."""
