"""Broadcasts to all users or a segment: one log per inbox, cached in memory and merged into inboxes at read."""
