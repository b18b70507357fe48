"""Time as a port: what needs a clock is given one, so that a test can hold it still. And how times are spelled."""

import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Protocol


class Clock(Protocol):
    """Two times that must not be mixed up."""

    def now(self) -> datetime:
        """Wall time in UTC, for people and for rows. Can jump."""
        ...

    def now_ms(self) -> int:
        """The same in milliseconds since 1970."""
        ...

    def monotonic(self) -> float:
        """Seconds that only go forward, for durations and deadlines. Means nothing to another process."""
        ...


class SystemClock:
    """The machine's own."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()


class OffsetClock:
    """The machine's own, with a wall time that is wrong by so much: for tests of what happens after thirty days."""

    def __init__(self, offset_s: float) -> None:
        self._offset_ms = round(offset_s * 1000)

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(milliseconds=self._offset_ms)

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000 + self._offset_ms

    def monotonic(self) -> float:
        return time.monotonic()


def time_text(at_ms: int) -> str:
    """As rows have it: 2026-11-15T02:11:21.957Z"""
    seconds, ms = divmod(at_ms, 1000)
    return f"{_second_text(seconds)}.{ms:03}Z"


@lru_cache(maxsize=64)
def _second_text(seconds: int) -> str:
    """Kept, because everything that is written in a second asks for the same."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"


def time_ms(text: str) -> int:
    at = datetime.fromisoformat(text)
    return round(at.timestamp() * 1000)
