"""A cache in this process's memory: bounded in age and size, with one load at a time for a key.

Absent keys are cached too, in a map of their own: looking up missing keys neither costs a load each time nor evicts
values that exist.
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
    """How long values are used, and how many are stored.

    fresh_s: a value is loaded again after this time.
    outage_s: while the source fails, a value is used up to this age, and loading is retried each `retry_s`.
    """

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
    """A cache in front of `load`, which returns None for an absent key. Not thread-safe: use it in one event loop."""

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
        """Return the cached or loaded value. Raises the error of `load` if no cached value may still be used."""
        now = self._clock.monotonic()
        cached = self._present.get(key)
        if cached is not None and now < cached.fresh_until:
            self._present.move_to_end(key)
            return cached.value
        if now < self._absent.get(key, 0.0):
            return None
        try:
            return await self._loads.run(key, partial(self._refresh, key))
        except TidingsError as error:
            if cached is None or not error.retryable or not self._extend(cached):
                raise
            return cached.value

    def evict(self, key: K) -> None:
        """Drop a key that has changed, so that the next `get` reads the change."""
        # Race: a load began before the change and ends after this call. It must not store its value, and the next
        # `get` must not join it.
        self._loads.forget(key)
        self._drop(key)

    def _drop(self, key: K) -> None:
        self._present.pop(key, None)
        self._absent.pop(key, None)

    def _extend(self, entry: _CacheEntry[V]) -> bool:
        """Use a value for another `retry_s`. Returns False if it is older than `outage_s`."""
        now = self._clock.monotonic()
        entry.fresh_until = min(now + self._policy.retry_s, entry.checked_at + self._policy.outage_s)
        return now < entry.fresh_until

    async def _refresh(self, key: K) -> V | None:
        read_at = self._clock.monotonic()
        value = await self._load(key)
        if not self._loads.is_current(key):
            return value
        self._drop(key)
        # The age counts from before the read: the value may miss changes that were made during it.
        fresh_until = read_at + self._policy.fresh_s
        if value is None:
            self._absent[key] = fresh_until
            _evict_oldest(self._absent, self._policy.absent_count)
        else:
            self._present[key] = _CacheEntry(value, read_at, fresh_until)
            _evict_oldest(self._present, self._policy.count)
        return value


def _evict_oldest[K, V](entries: OrderedDict[K, V], count: int) -> None:
    """Evict the least recently used entries above `count`."""
    while len(entries) > count:
        entries.popitem(last=False)
