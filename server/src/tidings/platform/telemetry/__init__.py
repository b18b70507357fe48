"""Logs, metrics and spans of a process."""
