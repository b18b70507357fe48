"""The rate limiter: buckets in Redis, and buckets in this process's memory while Redis is unavailable."""

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tidings.kernel.clock import Clock
from tidings.kernel.errors import UnavailableError
from tidings.kernel.ids import TenantId
from tidings.limits import rules
from tidings.limits.model import Buckets, LimitKind, LimitPolicy, LimitVerdict, TakeResult, TokenRequest
from tidings.limits.rules import BucketState

type _Name = tuple[LimitKind, TenantId, str]

MAX_BUCKETS = 100_000


class LocalBuckets:
    """Buckets in this process's memory. The least recently used one is evicted, and is full when it is used again."""

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
                self._store(name, BucketState(level, now_us))
        return taking

    def _store(self, name: _Name, bucket: BucketState) -> None:
        self._buckets[name] = bucket
        self._buckets.move_to_end(name)
        if len(self._buckets) > self._max_buckets:
            self._buckets.popitem(last=False)


_log = logging.getLogger(__name__)

RETRY_S = 1.0
"""How long Redis is not called after a failure. Then one request tries it, while the others use the local buckets."""
MAX_BLOCKED = 10_000
_NO_POLICIES: Mapping[LimitKind, LimitPolicy] = {}


@dataclass(slots=True)
class LimiterStats:
    allowed: int = 0
    refused: int = 0
    local: int = 0
    """Decided by the local buckets, because Redis was unavailable."""


class _Blocked(NamedTuple):
    """The last verdict of an empty bucket, and until when it stays the same."""

    verdict: LimitVerdict
    until: float


class RateLimiter:
    """Take tokens from the buckets in Redis, or from local ones while Redis is unavailable.

    Never raises for Redis, and never takes longer than the deadline of the shared buckets.
    """

    def __init__(
        self,
        shared: Buckets,
        local: LocalBuckets,
        policies: Mapping[LimitKind, LimitPolicy],
        clock: Clock,
        *,
        retry_s: float = RETRY_S,
    ) -> None:
        self._shared = shared
        self._local = local
        self._policies = policies
        self._clock = clock
        self._retry_s = retry_s
        self._retry_redis_at = 0.0
        self._blocked: dict[TokenRequest, _Blocked] = {}
        self.counts = LimiterStats()
        self.trouble = ""
        """Why local buckets are used; empty while Redis is available."""

    async def take(
        self, asks: Sequence[TokenRequest], instead: Mapping[LimitKind, LimitPolicy] = _NO_POLICIES
    ) -> LimitVerdict:
        """Take tokens from all buckets or from none. `instead`: policies that replace the installation's."""
        if len(asks) == 1 and (blocked := self.is_blocked(asks[0])):
            return blocked
        _check(asks)
        policies = [instead.get(ask.kind) or self._policies[ask.kind] for ask in asks]
        verdict = await self._take(asks, policies)
        self.counts.allowed += verdict.is_allowed
        self.counts.refused += not verdict.is_allowed
        self.counts.local += verdict.is_local
        return verdict

    def is_blocked(self, ask: TokenRequest) -> LimitVerdict | None:
        """Return the last verdict while the bucket is known to be empty. A flood of requests does not reach Redis."""
        blocked = self._blocked.get(ask)
        if blocked is None:
            return None
        if self._clock.monotonic() >= blocked.until:
            del self._blocked[ask]
            return None
        self.counts.refused += 1
        return blocked.verdict

    async def _take(self, asks: Sequence[TokenRequest], policies: Sequence[LimitPolicy]) -> LimitVerdict:
        if self._may_try_redis():
            try:
                taking = await self._shared.take(asks, policies)
            except UnavailableError as error:
                self._on_unavailable(str(error))
            else:
                self._on_available()
                verdict = rules.to_verdict(policies, asks, taking, is_local=False)
                self._remember_empty(asks, policies, taking, verdict)
                return verdict
        taking = await self._local.take(asks, policies)
        return rules.to_verdict(policies, asks, taking, is_local=True)

    def _remember_empty(
        self,
        asks: Sequence[TokenRequest],
        policies: Sequence[LimitPolicy],
        taking: TakeResult,
        verdict: LimitVerdict,
    ) -> None:
        if taking.is_allowed or len(asks) != 1:
            return
        wait_s = rules.wait_until_allowed_s(policies[0], asks[0], taking.levels[0])
        self._blocked[asks[0]] = _Blocked(verdict, self._clock.monotonic() + wait_s)
        if len(self._blocked) > MAX_BLOCKED:
            self._blocked.pop(next(iter(self._blocked)))

    def _may_try_redis(self) -> bool:
        """Let one request each `retry_s` try Redis during an outage. The others do not wait for its result."""
        if not self.trouble:
            return True
        now = self._clock.monotonic()
        if now < self._retry_redis_at:
            return False
        self._retry_redis_at = now + self._retry_s
        return True

    def _on_unavailable(self, reason: str) -> None:
        if not self.trouble:
            _log.warning("rate limits: Redis is unavailable, using local buckets: %s", reason)
        self.trouble = reason
        self._retry_redis_at = self._clock.monotonic() + self._retry_s

    def _on_available(self) -> None:
        if self.trouble:
            _log.warning("rate limits: Redis is available again, after: %s", self.trouble)
            self.trouble = ""


def _check(asks: Sequence[TokenRequest]) -> None:
    if len(asks) == 1 and asks[0].tokens >= 1:
        return
    if len({ask.tenant for ask in asks}) != 1 or len({(ask.kind, ask.name) for ask in asks}) != len(asks):
        raise ValueError(f"The requests of a take must be for different buckets of one tenant: {asks}")
    if any(ask.tokens < 1 for ask in asks):
        raise ValueError(f"A request takes at least one token: {asks}")
