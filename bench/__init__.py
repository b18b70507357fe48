"""Benchmarks: `just bench NAME`. Each prints a table and, as its last line, its figures as JSON."""
