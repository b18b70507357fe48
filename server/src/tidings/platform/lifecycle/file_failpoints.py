"""Holds a process at named steps, for tests that provoke a race between two of them. Works over files, so that it
needs no port and survives a kill: while `<step>.hold` is there whoever comes to the step waits, and `<step>.reached`
appears.
"""

import asyncio
from collections.abc import Collection
from pathlib import Path

EVERY = "*"
_POLL_S = 0.01


class FileFailpoints:
    """`steps`: at which it may be held; `*` is every one."""

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
        while hold.exists():  # noqa: ASYNC110 - whoever lets it on is another process
            await asyncio.sleep(_POLL_S)
