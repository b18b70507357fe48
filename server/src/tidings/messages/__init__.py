"""The log of a chat: append, history, edits."""
