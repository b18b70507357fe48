"""Everything an installation can set: frozen, read once, every fault reported together."""

from tidings.run.settings.load import load
from tidings.run.settings.model import Settings

__all__ = ["Settings", "load"]
