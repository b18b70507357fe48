"""Stores of the outbox, the positions and the chat list: in memory, or in a file that survives a crash."""
