"""`tidings doctor`: check everything that an installation depends on, and report what is wrong and what to do."""
