"""Tenants: their settings, data keys and sealed content."""
