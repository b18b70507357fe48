"""Adapters of imports."""
