"""Faults between Tidings and its engines: the proxies, and one test per fault and invariant."""
