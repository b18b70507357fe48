"""Measurements: `just bench NAME`. Each prints a table for people and, as its last line, its figures as JSON."""
