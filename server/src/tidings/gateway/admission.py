"""Limit the rate of new connections, and distribute the retries of refused ones.

Pure. Each process has its own limit. `max_admission_delay_s` assumes that devices retry at the time that they received.
"""

import random
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

from tidings.gateway.transport.ports import AdmissionResult, UpgradeRefusal, UpgradeRequest
from tidings.kernel.errors import Code
from tidings.kernel.token_bucket import TokenBucket
from tidings.limits.rules import address_key

_TITLE = "Too many devices are connecting at once"
_BURST_S = 5.0
_MAX_ADDRESSES = 10_000
"""Maximum number of addresses with a limit of their own. The least recently used one is evicted first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionOptions:
    """Limits of new connections.

    per_address_per_s: rate for one address, with a burst of five seconds' worth. None: only the total is limited.
    jitter_s: random time that is added to each retry time.
    max_wait_s: longest retry time.
    """

    max_connects_per_s: float = 500.0
    burst: int = 500
    per_address_per_s: float | None = None
    jitter_s: float = 1.0
    max_wait_s: float = 60.0


@final
class ConnectLimiter:
    """A token bucket with reservations.

    Each refusal reserves the next free token and returns the time until then. Refused devices therefore retry at the
    rate at which they can be accepted.
    """

    def __init__(self, options: AdmissionOptions, now: float, draw: Callable[[], float]) -> None:
        # `draw` returns random numbers from 0 to 1.
        self._options = options
        self._draw = draw
        self._bucket = TokenBucket(options.max_connects_per_s, options.burst, now)
        self._booked_until = now

    def take(self, now: float, *, is_reserved: bool = False) -> int | None:
        """Return None if the connection is accepted, else the time until the retry in milliseconds.

        `is_reserved`: may use one further burst, which other connections cannot exhaust.
        """
        if self._bucket.take_if_available(now, overdraft=self._options.burst if is_reserved else 0):
            return None
        return self._book(now)

    def is_unused(self, now: float) -> bool:
        return self._bucket.is_full(now)

    def _book(self, now: float) -> int:
        """Reserve the next free slot. Slots of devices that never retry expire as time passes."""
        options = self._options
        slot = max(self._booked_until, now) + 1 / options.max_connects_per_s
        if slot - now > options.max_wait_s:
            return round(options.max_wait_s * (0.5 + self._draw() / 2) * 1_000)
        self._booked_until = slot
        return round((slot - now + self._draw() * options.jitter_s) * 1_000)


def max_admission_delay_s(clients: int, options: AdmissionOptions) -> float:
    """Return the time in which `clients` that connect at once are all accepted. A fifth is for second refusals."""
    return 1.2 * clients / options.max_connects_per_s + 2 * options.jitter_s


@final
class UpgradeLimiter:
    """Limit upgrades per second, in total and for each address.

    An address that has not connected recently may use a reserve that busy addresses cannot reach. An address that
    exhausts the total limit therefore does not keep new ones out.
    """

    def __init__(self, options: AdmissionOptions, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._all = ConnectLimiter(options, monotonic(), random.random)
        self._own: AdmissionOptions | None = None
        if options.per_address_per_s is not None:
            rate = options.per_address_per_s
            burst = max(1, round(rate * _BURST_S))
            self._own = replace(options, max_connects_per_s=rate, burst=burst)
        self._of_address: OrderedDict[str, ConnectLimiter] = OrderedDict()

    def admit(self, upgrade: UpgradeRequest) -> AdmissionResult:
        """Decide on an upgrade, as the listener's `AdmissionCheck`."""
        wait_ms = self._take(address_key(upgrade.client), self._monotonic())
        return (
            None if wait_ms is None else UpgradeRefusal(503, Code.OVERLOADED, _TITLE, retry_after_ms=wait_ms)
        )

    def _take(self, address: str, now: float) -> int | None:
        if self._own is None:
            return self._all.take(now)
        own = self._of_address.get(address)
        if own is None:
            own = self._of_address[address] = ConnectLimiter(self._own, now, random.random)
            if len(self._of_address) > _MAX_ADDRESSES:
                self._of_address.popitem(last=False)
        self._of_address.move_to_end(address)
        is_reserved = own.is_unused(now)
        wait_ms = own.take(now)
        return wait_ms if wait_ms is not None else self._all.take(now, is_reserved=is_reserved)
