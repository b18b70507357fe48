"""Tries to break the promises of an installation: load, a record of what every device saw, and a checker of it."""
