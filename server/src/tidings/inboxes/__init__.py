"""Notifications in users' inboxes: configuration, rows, counts, sends, recalls and broadcasts."""
