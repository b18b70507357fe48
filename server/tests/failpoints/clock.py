"""A clock with a wrong wall time, for tests of long periods (thirty days) and of machines with a wrong clock."""

import time
from datetime import UTC, datetime, timedelta


class OffsetClock:
    def __init__(self, offset_s: float) -> None:
        self._offset_ms = round(offset_s * 1000)

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(milliseconds=self._offset_ms)

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000 + self._offset_ms

    def monotonic(self) -> float:
        return time.monotonic()
