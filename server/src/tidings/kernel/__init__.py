"""Errors, ids, clock and concurrency that every other package may import. Imports the standard library alone."""
