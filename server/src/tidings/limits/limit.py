"""May this happen now? Asks the shared buckets; while they are away this process counts for itself."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidings.kernel.clock import Clock
from tidings.limits import rules
from tidings.limits.local import LocalBuckets
from tidings.limits.model import Ask, Kind, Policy, Verdict
from tidings.limits.ports import Buckets, BucketsAwayError

_log = logging.getLogger(__name__)

RETRY_S = 1.0
"""After a failure: how long nobody asks the shared buckets. Then one asker tries, the others don't wait for him."""
_NOTHING: Mapping[Kind, Policy] = {}


@dataclass(slots=True)
class Counts:
    """For whoever exports them."""

    allowed: int = 0
    refused: int = 0
    local: int = 0
    """Decided here, because the shared buckets were away."""


class Limiter:
    """Never fails and never makes anybody wait longer than the shared buckets' own deadline."""

    def __init__(
        self,
        shared: Buckets,
        local: LocalBuckets,
        policies: Mapping[Kind, Policy],
        clock: Clock,
        *,
        retry_s: float = RETRY_S,
    ) -> None:
        self._shared = shared
        self._local = local
        self._policies = policies
        self._clock = clock
        self._retry_s = retry_s
        self._ask_again_at = 0.0
        self.counts = Counts()
        self.trouble = ""
        """Why this process counts for itself; empty while it does not."""

    async def take(self, asks: Sequence[Ask], instead: Mapping[Kind, Policy] = _NOTHING) -> Verdict:
        """From all buckets, or from none. `instead`: what a tenant has in place of the installation's policies."""
        _check(asks)
        policies = [instead.get(ask.kind) or self._policies[ask.kind] for ask in asks]
        verdict = await self._take(asks, policies)
        self.counts.allowed += verdict.is_allowed
        self.counts.refused += not verdict.is_allowed
        self.counts.local += verdict.is_local
        return verdict

    async def _take(self, asks: Sequence[Ask], policies: Sequence[Policy]) -> Verdict:
        if self._may_ask():
            try:
                taking = await self._shared.take(asks, policies)
            except BucketsAwayError as error:
                self._went(str(error))
            else:
                self._came_back()
                return rules.verdict(policies, asks, taking, is_local=False)
        taking = await self._local.take(asks, policies)
        return rules.verdict(policies, asks, taking, is_local=True)

    def _may_ask(self) -> bool:
        """In trouble one asker a while tries; his time is up for the others before he has his answer."""
        if not self.trouble:
            return True
        now = self._clock.monotonic()
        if now < self._ask_again_at:
            return False
        self._ask_again_at = now + self._retry_s
        return True

    def _went(self, reason: str) -> None:
        if not self.trouble:
            _log.warning("rate limits: this process counts for itself: %s", reason)
        self.trouble = reason
        self._ask_again_at = self._clock.monotonic() + self._retry_s

    def _came_back(self) -> None:
        """An answer that was on its way when another failed counts too: the buckets are there."""
        if self.trouble:
            _log.warning("rate limits: shared again, after: %s", self.trouble)
            self.trouble = ""


def _check(asks: Sequence[Ask]) -> None:
    if len({ask.tenant for ask in asks}) != 1 or len({(ask.kind, ask.name) for ask in asks}) != len(asks):
        raise ValueError(f"a take asks different buckets of one tenant: {asks}")
    if any(ask.tokens < 1 for ask in asks):
        raise ValueError(f"at least one token is taken: {asks}")
