"""Clients of push providers."""
