"""Pause a process at named steps, for tests that provoke a race between two processes.

Files control it, so that it needs no port and survives a kill: while the file `<step>.hold` exists, a task that
reaches the step waits there, after it has created `<step>.reached`.
"""

import asyncio
from collections.abc import Collection
from pathlib import Path

from tidings.kernel.failpoints import Failpoints

EVERY = "*"
_POLL_S = 0.01


class FileFailpoints(Failpoints):
    """Pause at `steps`; `*` is every step. Raise `ValueError` if the folder does not exist."""

    def __init__(self, folder: Path, steps: Collection[str]) -> None:
        if not folder.is_dir():
            raise ValueError(f"folder {folder} does not exist")
        self._folder = folder
        self._steps = frozenset(steps)

    async def hit(self, name: str, /) -> None:
        if name not in self._steps and EVERY not in self._steps:
            return
        hold = self._folder / f"{name}.hold"
        if not hold.exists():
            return
        (self._folder / f"{name}.reached").touch()
        while hold.exists():  # noqa: ASYNC110 - another process deletes the file
            await asyncio.sleep(_POLL_S)
