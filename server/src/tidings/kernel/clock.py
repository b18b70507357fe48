"""Time as a port: what needs a clock is given one, so that a test can hold it still."""

import time
from datetime import UTC, datetime
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
