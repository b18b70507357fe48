"""What an installation knows of itself as a whole: its epoch, and how a restore ends."""
