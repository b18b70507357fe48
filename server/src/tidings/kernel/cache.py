"""What a slow source says, kept for a while: with a bound on its age, on its number, and on the loads for one key.

Kept in this process only. What is absent is kept as well, apart, so that asking for what is not there neither
costs a load each time nor drives out what is.
"""

from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import SingleFlight
from tidings.kernel.errors import TidingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePolicy:
    """An answer is at most `fresh_s` old; while the source fails, at most `outage_s`, asked again each `retry_s`."""

    fresh_s: float
    outage_s: float = 0.0
    retry_s: float = 5.0
    count: int = 10_000
    absent_count: int = 10_000


@dataclass(slots=True)
class _CacheEntry[V]:
    value: V
    checked_at: float
    fresh_until: float


class Cache[K, V]:
    """Belongs to the event loop that it is used in. `load` gives None for what is not there."""

    def __init__(
        self, load: Callable[[K], Coroutine[Any, Any, V | None]], clock: Clock, policy: CachePolicy
    ) -> None:
        self._load = load
        self._clock = clock
        self._policy = policy
        self._present: OrderedDict[K, _CacheEntry[V]] = OrderedDict()
        self._absent: OrderedDict[K, float] = OrderedDict()
        self._loads: SingleFlight[K, V | None] = SingleFlight()

    async def get(self, key: K) -> V | None:
        """Raises what the source raises, if nothing is at hand that may still be used."""
        now = self._clock.monotonic()
        kept = self._present.get(key)
        if kept is not None and now < kept.fresh_until:
            self._present.move_to_end(key)
            return kept.value
        if now < self._absent.get(key, 0.0):
            return None
        try:
            return await self._loads.run(key, partial(self._refresh, key))
        except TidingsError as error:
            if kept is None or not error.retryable or not self._outlasts(kept):
                raise
            return kept.value

    def evict(self, key: K) -> None:
        """For who has just changed it. A load that is under way may still bring the old; its age is bounded too."""
        self._present.pop(key, None)
        self._absent.pop(key, None)

    def _outlasts(self, kept: _CacheEntry[V]) -> bool:
        now = self._clock.monotonic()
        kept.fresh_until = min(now + self._policy.retry_s, kept.checked_at + self._policy.outage_s)
        return now < kept.fresh_until

    async def _refresh(self, key: K) -> V | None:
        looked_at = self._clock.monotonic()
        value = await self._load(key)
        self.evict(key)
        # counted from before the read: what was changed since may not be in it
        fresh_until = looked_at + self._policy.fresh_s
        if value is None:
            self._absent[key] = fresh_until
            _shorten(self._absent, self._policy.absent_count)
        else:
            self._present[key] = _CacheEntry(value, looked_at, fresh_until)
            _shorten(self._present, self._policy.count)
        return value


def _shorten[K, V](kept: OrderedDict[K, V], count: int) -> None:
    """The one that was used least recently goes first."""
    while len(kept) > count:
        kept.popitem(last=False)
