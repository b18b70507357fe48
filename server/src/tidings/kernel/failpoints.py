"""Failpoints: named steps at which a test can pause a process. In production they do nothing."""

from typing import Protocol


class Failpoints(Protocol):
    async def hit(self, name: str, /) -> None:
        """Return when the process may continue. A failpoint is named after the step that was just done."""
        ...


class NoFailpoints:
    async def hit(self, name: str, /) -> None: ...


NO_PAUSES = NoFailpoints()
