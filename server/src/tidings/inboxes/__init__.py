"""Notifications to named users: an inbox per user, with counts that are exact."""
