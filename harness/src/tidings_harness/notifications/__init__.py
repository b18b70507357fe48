"""Test inboxes: send, read, mark and redact notifications and broadcasts, and check what every user saw."""
