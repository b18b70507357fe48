"""`tidings doctor`: looks at everything an installation stands on, and says what is wrong and what to do."""
