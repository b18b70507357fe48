"""The loop's heartbeat: how late it turns, and when it last did. Other threads look at `age_s`."""

import asyncio
from collections.abc import Callable

from prometheus_client import Histogram

from tidings.kernel.clock import Clock


class Heartbeat:
    """Beats on the loop it is started on; `on_beat` runs there with each beat."""

    def __init__(self, clock: Clock, every_s: float, lag: Histogram, on_beat: Callable[[], None]) -> None:
        self._clock = clock
        self._every_s = every_s
        self._lag = lag
        self._on_beat = on_beat
        self._next: asyncio.TimerHandle | None = None
        self.last = clock.monotonic()
        self.count = 0

    def start(self) -> None:
        self.last = self._clock.monotonic()
        self._next = asyncio.get_running_loop().call_later(self._every_s, self._beat)

    def stop(self) -> None:
        if self._next is not None:
            self._next.cancel()

    def age_s(self) -> float:
        return self._clock.monotonic() - self.last

    def _beat(self) -> None:
        now = self._clock.monotonic()
        self._lag.observe(max(now - self.last - self._every_s, 0.0))
        self.last = now
        self.count += 1
        self._next = asyncio.get_running_loop().call_later(self._every_s, self._beat)
        self._on_beat()
