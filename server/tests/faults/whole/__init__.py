"""Faults against whole installations under load: one file each, with its invariant, its fault and how it heals."""
