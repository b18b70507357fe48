"""Search every stored byte for secrets of an erased user."""
