"""The tests under load run on installations of their own."""

from fixtures.installation_processes import ground, installation

__all__ = ["ground", "installation"]
