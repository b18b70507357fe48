"""Buckets in this process's memory, for the time that Redis is away. Bounded: who was not seen for longest goes."""

from collections import OrderedDict
from collections.abc import Sequence

from tidings.kernel.clock import Clock
from tidings.kernel.ids import TenantId
from tidings.limits import rules
from tidings.limits.model import LimitKind, LimitPolicy, TokenRequest
from tidings.limits.rules import BucketState, TakeResult

type _Name = tuple[LimitKind, TenantId, str]

MAX_BUCKETS = 100_000


class LocalBuckets:
    """Belongs to the event loop that it is used in; a bucket that had to go is full when it comes back."""

    def __init__(self, clock: Clock, *, max_buckets: int = MAX_BUCKETS) -> None:
        self._clock = clock
        self._max_buckets = max_buckets
        self._buckets: OrderedDict[_Name, BucketState] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    async def take(self, asks: Sequence[TokenRequest], policies: Sequence[LimitPolicy], /) -> TakeResult:
        now_us = round(self._clock.monotonic() * 1_000_000)
        names: list[_Name] = [(ask.kind, ask.tenant, ask.name) for ask in asks]
        taking = rules.take([self._buckets.get(name) for name in names], policies, asks, now_us)
        if taking.is_allowed:
            for name, level in zip(names, taking.levels, strict=True):
                self._keep(name, BucketState(level, now_us))
        return taking

    def _keep(self, name: _Name, bucket: BucketState) -> None:
        self._buckets[name] = bucket
        self._buckets.move_to_end(name)
        if len(self._buckets) > self._max_buckets:
            self._buckets.popitem(last=False)
