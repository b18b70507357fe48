"""Who talks to an installation: people, their devices, and what they do."""
