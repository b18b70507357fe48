"""Import users, chats and messages of another system: the format, its validation, and the writes."""
