"""Expire the content of messages after the time that a tenant has set, unless a legal hold keeps it."""
