"""Buckets in this process's memory, for the time that Redis is away. Bounded: who was not seen for longest goes."""

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


_log = logging.getLogger(__name__)

RETRY_S = 1.0
"""After a failure: how long nobody asks the shared buckets. Then one asker tries, the others don't wait for him."""
MAX_NOTED = 10_000
_NOTHING: Mapping[LimitKind, LimitPolicy] = {}


@dataclass(slots=True)
class LimiterStats:
    """For whoever exports them."""

    allowed: int = 0
    refused: int = 0
    local: int = 0
    """Decided here, because the shared buckets were away."""


class _Empty(NamedTuple):
    """A bucket that refused, and until when it will."""

    verdict: LimitVerdict
    until: float


class RateLimiter:
    """Never fails and never makes anybody wait longer than the shared buckets' own deadline."""

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
        self._empty: dict[TokenRequest, _Empty] = {}
        self.counts = LimiterStats()
        self.trouble = ""
        """Why this process counts for itself; empty while it does not."""

    async def take(
        self, asks: Sequence[TokenRequest], instead: Mapping[LimitKind, LimitPolicy] = _NOTHING
    ) -> LimitVerdict:
        """From all buckets, or from none. `instead`: what a tenant has in place of the installation's policies."""
        if len(asks) == 1 and (noted := self.is_blocked(asks[0])):
            return noted
        _check(asks)
        policies = [instead.get(ask.kind) or self._policies[ask.kind] for ask in asks]
        verdict = await self._take(asks, policies)
        self.counts.allowed += verdict.is_allowed
        self.counts.refused += not verdict.is_allowed
        self.counts.local += verdict.is_local
        return verdict

    def is_blocked(self, ask: TokenRequest) -> LimitVerdict | None:
        """The last answer, while asking again would be in vain: who floods us does not flood the buckets."""
        noted = self._empty.get(ask)
        if noted is None:
            return None
        if self._clock.monotonic() >= noted.until:
            del self._empty[ask]
            return None
        self.counts.refused += 1
        return noted.verdict

    async def _take(self, asks: Sequence[TokenRequest], policies: Sequence[LimitPolicy]) -> LimitVerdict:
        if self._may_ask():
            try:
                taking = await self._shared.take(asks, policies)
            except UnavailableError as error:
                self._on_unavailable(str(error))
            else:
                self._on_available()
                verdict = rules.to_verdict(policies, asks, taking, is_local=False)
                self._note(asks, policies, taking, verdict)
                return verdict
        taking = await self._local.take(asks, policies)
        return rules.to_verdict(policies, asks, taking, is_local=True)

    def _note(
        self,
        asks: Sequence[TokenRequest],
        policies: Sequence[LimitPolicy],
        taking: TakeResult,
        verdict: LimitVerdict,
    ) -> None:
        if taking.is_allowed or len(asks) != 1:
            return
        wait_s = rules.wait_until_allowed_s(policies[0], asks[0], taking.levels[0])
        self._empty[asks[0]] = _Empty(verdict, self._clock.monotonic() + wait_s)
        if len(self._empty) > MAX_NOTED:
            self._empty.pop(next(iter(self._empty)))

    def _may_ask(self) -> bool:
        """In trouble one asker a while tries; his time is up for the others before he has his answer."""
        if not self.trouble:
            return True
        now = self._clock.monotonic()
        if now < self._retry_redis_at:
            return False
        self._retry_redis_at = now + self._retry_s
        return True

    def _on_unavailable(self, reason: str) -> None:
        if not self.trouble:
            _log.warning("rate limits: this process counts for itself: %s", reason)
        self.trouble = reason
        self._retry_redis_at = self._clock.monotonic() + self._retry_s

    def _on_available(self) -> None:
        """An answer that was on its way when another failed counts too: the buckets are there."""
        if self.trouble:
            _log.warning("rate limits: shared again, after: %s", self.trouble)
            self.trouble = ""


def _check(asks: Sequence[TokenRequest]) -> None:
    if len({ask.tenant for ask in asks}) != 1 or len({(ask.kind, ask.name) for ask in asks}) != len(asks):
        raise ValueError(f"a take asks different buckets of one tenant: {asks}")
    if any(ask.tokens < 1 for ask in asks):
        raise ValueError(f"at least one token is taken: {asks}")
