"""Moderation of content: the words and links that a tenant refuses or masks."""
