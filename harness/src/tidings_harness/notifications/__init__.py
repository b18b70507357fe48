"""Inboxes under attack: notifications and broadcasts are sent, read, marked and taken back; what everybody saw is checked."""
