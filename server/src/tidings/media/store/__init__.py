"""Adapters of attachments."""
