"""A clock whose wall time is wrong: for tests of what happens after thirty days, or on a machine with a bad clock."""

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
