"""`tidings run`: defined with the processes, because `tidings dev` and `tidings doctor` list them too."""

from tidings.app.processes.command import group

__all__ = ["group"]
