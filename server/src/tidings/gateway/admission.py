"""How many connections may be opened a second, and when the others are to come back: a bucket and a booking.

Pure. Each process has its own; the promise of `settled_within_s` is for devices that come back when told.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from tidings.gateway.socket.ports import Admission, Refusal, Upgrade
from tidings.kernel.errors import Code

_TITLE = "Too many devices are connecting at once"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionOptions:
    """`jitter_s` parts those who were told the same; `max_wait_s` is the longest anybody is told to wait."""

    connects_per_s: float = 500.0
    burst: int = 500
    jitter_s: float = 1.0
    max_wait_s: float = 60.0


@final
class ConnectBucket:
    """A token bucket. Who finds it empty is told when a token will be there for him: each refusal books the
    next free moment, so that those who come back do so at the rate at which they can be let in.
    """

    def __init__(self, options: AdmissionOptions, now: float, draw: Callable[[], float]) -> None:
        """`draw` gives numbers from 0 to 1."""
        self._options = options
        self._draw = draw
        self._tokens = float(options.burst)
        self._filled_at = now
        self._booked_until = now

    def take(self, now: float) -> int | None:
        """None: come in. Else when to come back, in milliseconds."""
        self._fill(now)
        if self._tokens >= 1:
            self._tokens -= 1
            return None
        return self._book(now)

    def _fill(self, now: float) -> None:
        gained = (now - self._filled_at) * self._options.connects_per_s
        self._tokens = min(float(self._options.burst), self._tokens + gained)
        self._filled_at = now

    def _book(self, now: float) -> int:
        """Bookings of devices that never return lapse by themselves, as time passes them."""
        options = self._options
        slot = max(self._booked_until, now) + 1 / options.connects_per_s
        if slot - now > options.max_wait_s:
            return round(options.max_wait_s * (0.5 + self._draw() / 2) * 1_000)
        self._booked_until = slot
        return round((slot - now + self._draw() * options.jitter_s) * 1_000)


def settled_within_s(clients: int, options: AdmissionOptions) -> float:
    """So many at once, each coming back when told: all are in by then. A fifth is for those told twice."""
    return 1.2 * clients / options.connects_per_s + 2 * options.jitter_s


def admission(options: AdmissionOptions, monotonic: Callable[[], float]) -> Callable[[Upgrade], Admission]:
    """As the socket's door wants it."""
    bucket = ConnectBucket(options, monotonic(), random.random)

    def admit(_: Upgrade) -> Admission:
        wait_ms = bucket.take(monotonic())
        return None if wait_ms is None else Refusal(503, Code.OVERLOADED, _TITLE, retry_after_ms=wait_ms)

    return admit
