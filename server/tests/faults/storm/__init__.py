"""Many senders in several processes on one chat, while the way to the store drops, delays, repeats and refuses."""
