"""Tenants and their keys: what content is sealed and recognised with."""
