"""Time as a port: what needs a clock is given one, so that a test can hold it still. And how times are spelled."""

import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol

_HOUR_MS = 3_600_000
_FORMATTED_CHARS = len("2026-11-15T02:11:21.957Z")


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


def format_ms(at_ms: int) -> str:
    """As rows have it: 2026-11-15T02:11:21.957Z"""
    hour, ms = divmod(at_ms, _HOUR_MS)
    minute, ms = divmod(ms, 60_000)
    return f"{_hour_text(hour)}:{minute:02}:{ms // 1000:02}.{ms % 1000:03}Z"


def parse_ms(text: str) -> int:
    if len(text) != _FORMATTED_CHARS or text[-1] != "Z":
        return round(datetime.fromisoformat(text).timestamp() * 1000)
    return _hour_ms(text[:13]) + int(text[14:16]) * 60_000 + int(text[17:19]) * 1000 + int(text[20:23])


@lru_cache(maxsize=1_024)
def _hour_text(hour: int) -> str:
    """Kept, because a calendar is dear, and what is read together was mostly written in a few hours."""
    return f"{datetime.fromtimestamp(hour * 3600, UTC):%Y-%m-%dT%H}"


@lru_cache(maxsize=1_024)
def _hour_ms(text: str) -> int:
    return int(datetime.fromisoformat(f"{text}:00:00Z").timestamp()) * 1000
