"""The clock, as a parameter that tests can replace, and the text format of times."""

import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol

_MINUTE_MS = 60_000
_SECONDS = tuple(f"{second:02}" for second in range(60))
_MILLISECONDS = tuple(f".{ms:03}Z" for ms in range(1_000))
_FORMATTED_CHARS = len("2026-11-15T02:11:21.957Z")


class Clock(Protocol):
    """Wall time and monotonic time. The two must not be compared."""

    def now(self) -> datetime:
        """Return the wall time in UTC, for people and for rows. It can jump."""
        ...

    def now_ms(self) -> int:
        """Return the wall time in milliseconds since 1970."""
        ...

    def monotonic(self) -> float:
        """Return seconds that only increase, for durations and deadlines. Not comparable between processes."""
        ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()


def format_ms(at_ms: int) -> str:
    """Format a time as rows store it: 2026-11-15T02:11:21.957Z"""
    minute, ms = divmod(at_ms, _MINUTE_MS)
    return _minute_text(minute) + _SECONDS[ms // 1000] + _MILLISECONDS[ms % 1000]


def format_ms_or_none(at_ms: int | None) -> str | None:
    return None if at_ms is None else format_ms(at_ms)


def parse_ms(text: str) -> int:
    if len(text) != _FORMATTED_CHARS or text[-1] != "Z":
        return round(datetime.fromisoformat(text).timestamp() * 1000)
    return _minute_ms(text[:16]) + int(text[17:19] + text[20:23])


def parse_ms_or_none(text: str | None) -> int | None:
    return None if text is None else parse_ms(text)


# Cached: calendar arithmetic is expensive, and rows that are read together were mostly written within hours.
@lru_cache(maxsize=8_192)
def _minute_text(minute: int) -> str:
    hour, rest = divmod(minute, 60)
    return f"{_hour_text(hour)}:{rest:02}:"


@lru_cache(maxsize=1_024)
def _hour_text(hour: int) -> str:
    return f"{datetime.fromtimestamp(hour * 3600, UTC):%Y-%m-%dT%H}"


@lru_cache(maxsize=8_192)
def _minute_ms(text: str) -> int:
    return int(datetime.fromisoformat(f"{text}:00Z").timestamp()) * 1000
