"""What every other package may use: errors, secrets, the clock. The standard library only."""
