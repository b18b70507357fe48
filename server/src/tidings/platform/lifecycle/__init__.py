"""How a process lives: components in order, signals, deadlines, exit codes, and what it answers about itself."""
