"""The composition root: settings, wiring, and one file for each process."""
