"""Faults injected into whole installations under load. Each file has one fault and the invariant that must hold."""
