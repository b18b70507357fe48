"""Operators of the console: identities, roles and sessions."""
