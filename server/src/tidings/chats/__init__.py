"""Direct and group chats: members, roles, blocks."""
