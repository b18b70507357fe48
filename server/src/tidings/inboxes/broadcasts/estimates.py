"""Estimate how many users a broadcast reaches, and what it costs."""

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

from tidings.inboxes.broadcasts.model import BUCKETS, Profile
from tidings.inboxes.broadcasts.ports import ProfileStore
from tidings.inboxes.broadcasts.segments import SegmentService
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.ids import TenantId, UserId, stable_hash

_Z_95 = 1.96
"""Standard score of the 95 % confidence interval between `low` and `high`."""
_MAX_IF_NONE_MET = 3
"""Upper bound of the 95 % confidence interval if no user of the sample matches (rule of three)."""
_COUNT_ALL_UP_TO = 40
"""Users in the first bucket up to which all buckets are counted: about 10,000 users in total."""
_MAX_CONCURRENT = 16


class ReachEstimate(NamedTuple):
    """Users of the directory that match. `seen` is the size of the sample, `met` of them match."""

    users: int
    low: int
    high: int
    seen: int
    met: int

    def of_percent(self, percent: int) -> "ReachEstimate":
        users, low, high = (each * percent // 100 for each in (self.users, self.low, self.high))
        return self._replace(users=users, low=low, high=high)


class ReachEstimator:
    def __init__(self, segments: SegmentService, profiles: ProfileStore) -> None:
        self._segments = segments
        self._profiles = profiles

    async def estimate(self, tenant: TenantId, segment: str | None, /) -> ReachEstimate:
        """Count the users of a segment exactly in a small directory, else estimate from one of its buckets."""
        holds = None if segment is None else (await self._segments.of(tenant, segment)).contains
        first = stable_hash(segment or "*") % BUCKETS
        seen, met = await self._count(tenant, first, holds)
        if seen > _COUNT_ALL_UP_TO:
            return confidence_interval(seen, met)
        others = (self._count(tenant, bucket, holds) for bucket in range(BUCKETS) if bucket != first)
        found = await gather_limited(others, _MAX_CONCURRENT)
        seen, met = seen + sum(each[0] for each in found), met + sum(each[1] for each in found)
        return ReachEstimate(met, met, met, seen, met)

    async def _count(
        self, tenant: TenantId, bucket: int, holds: Callable[[Profile], bool] | None
    ) -> tuple[int, int]:
        """Return how many users a bucket has, and how many of them match."""
        seen = met = 0
        below: UserId | None = None
        while True:
            page = await self._profiles.bucket(tenant, bucket, below)
            seen += len(page.profiles)
            met += sum(holds is None or holds(each) for each in page.profiles)
            below = page.below
            if below is None:
                return seen, met


def confidence_interval(seen: int, met: int) -> ReachEstimate:
    """Extrapolate from one bucket. Users are hashed to buckets, so the count in one has the variance of its mean."""
    spread = _Z_95 * sqrt(met) if met else _MAX_IF_NONE_MET
    low, high = max(met, round(BUCKETS * (met - spread))), round(BUCKETS * (met + spread))
    return ReachEstimate(BUCKETS * met, low, high, seen, met)


DOLLARS_PER_UNIT = 0.625 / 1_000_000
BROADCAST_UNITS = 6
"""Idempotency key 1, content in a transaction 4, log entry 1; items of up to 1 KB."""
STEP_UNITS = 1
COPY_UNITS = 4
"""The row and the counts of a user, in one transaction."""


class CostEstimate(NamedTuple):
    write_units: int
    dollars: float
    copied_write_units: int
    copied_dollars: float


def estimate_cost(users: int, steps: int = 1) -> CostEstimate:
    """Return the cost of sending, and of a copy per user instead. Marks by users are extra: about one write each."""
    units, copied = BROADCAST_UNITS + STEP_UNITS * (steps - 1), BROADCAST_UNITS + COPY_UNITS * users
    return CostEstimate(
        units, round(units * DOLLARS_PER_UNIT, 6), copied, round(copied * DOLLARS_PER_UNIT, 6)
    )
