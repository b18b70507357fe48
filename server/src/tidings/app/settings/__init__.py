"""Everything an installation can set: frozen, read once, every fault reported together."""

from tidings.app.settings.loader import load
from tidings.app.settings.model import Settings

__all__ = ["Settings", "load"]
