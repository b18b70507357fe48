"""Check a history against the guarantees, rule by rule, in time linear in its events."""
