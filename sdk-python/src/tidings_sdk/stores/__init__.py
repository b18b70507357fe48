"""Where the outbox and the positions are kept: in memory, or in a file that survives a crash."""
