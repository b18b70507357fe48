"""The history of a run as devices saw it: written to survive a crash, and read as columns."""
