"""Pause a process at failpoints, for tests that provoke a race between two processes.

While the file `<failpoint>.hold` exists, a process that reaches the failpoint creates `<failpoint>.reached` and waits.
Files need no port and survive a kill.
"""

import asyncio
from collections.abc import Collection
from pathlib import Path

EVERY = "*"
_POLL_S = 0.01


class FileFailpoints:
    """`steps`: names of the failpoints that may pause; `*` means all."""

    def __init__(self, folder: Path, steps: Collection[str]) -> None:
        self._folder = folder
        self._steps = frozenset(steps)

    async def hit(self, name: str, /) -> None:
        if name not in self._steps and EVERY not in self._steps:
            return
        hold = self._folder / f"{name}.hold"
        if not hold.exists():
            return
        (self._folder / f"{name}.reached").touch()
        while hold.exists():  # noqa: ASYNC110 - another process removes the file
            await asyncio.sleep(_POLL_S)
