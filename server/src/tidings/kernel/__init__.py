"""What every other package may use: errors, secrets. The standard library only."""
