"""Moderation of content: the words and links that a tenant refuses, masks or flags; reports and reviews."""
