"""Many clients at once."""
