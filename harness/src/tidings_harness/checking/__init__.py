"""Holds a history against the promises, rule by rule, in time linear in its events."""
