"""Receipts, typing and presence: events that are never stored and may be lost."""
