"""The composition root: settings, the command line, and (as they come) one file per process."""
