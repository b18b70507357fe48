"""Adapters of exports."""
