"""Holds a process at named steps, for tests that provoke a race between two of them. Works over files, so that it
needs no port and survives a kill: `<step>.reached` appears when the process stands there, `<step>.go` lets it on.
"""

import asyncio
from collections.abc import Collection
from pathlib import Path

_LOOK_S = 0.01


class FilePauses:
    def __init__(self, folder: Path, steps: Collection[str]) -> None:
        self._folder = folder
        self._steps = frozenset(steps)

    async def at(self, step: str, /) -> None:
        if step not in self._steps:
            return
        (self._folder / f"{step}.reached").touch()
        while not (self._folder / f"{step}.go").exists():  # noqa: ASYNC110 - whoever lets it on is another process
            await asyncio.sleep(_LOOK_S)
