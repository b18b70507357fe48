"""Notifications to everyone or to a segment: one log per inbox, followed in memory, merged at read. Never copied."""
