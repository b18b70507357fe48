"""Chats and who is in them: direct and group, members, roles, blocks."""
