"""Where fetched jars and built binaries are kept: once per user, shared by all checkouts."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class DownloadCache:
    path: Path

    @property
    def maven(self) -> Path:
        return self.path / "maven"

    @property
    def dynoxide(self) -> Path:
        return self.path / "dynoxide"

    @property
    def kafka(self) -> Path:
        return self.path / "kafka"

    @property
    def native(self) -> Path:
        return self.path / "native"


def default_cache() -> DownloadCache:
    if given := os.environ.get("XDG_CACHE_HOME"):
        return DownloadCache(Path(given) / "tidings")
    home = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return DownloadCache(home / "tidings")
