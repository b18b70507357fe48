"""Steps at which a test may hold a process: `await pauses.at("worker.rows_written")`. In production nobody waits."""

from typing import Protocol


class Failpoints(Protocol):
    async def hit(self, name: str, /) -> None:
        """Goes on when it may. Steps are named after what has just been done."""
        ...


class NoFailpoints:
    async def hit(self, name: str, /) -> None:
        """Goes on at once."""


NO_PAUSES = NoFailpoints()
