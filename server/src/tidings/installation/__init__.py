"""The state of an installation as a whole: its epoch, and the end of a restore."""
