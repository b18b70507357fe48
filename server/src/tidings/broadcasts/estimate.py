"""Before a broadcast is sent: how many users it would reach, from the directory. Writes nothing.

A tenant with few users is counted; of a large one, one of the 256 parts is, and the rest is estimated.
"""

import asyncio
from collections.abc import Callable
from itertools import batched
from math import sqrt
from typing import NamedTuple

from tidings.broadcasts.model import BUCKETS, Profile
from tidings.broadcasts.ports import ProfileStore
from tidings.broadcasts.segments import SegmentService
from tidings.kernel.ids import TenantId, UserId, stable_hash

_SURE = 1.96
"""Of a hundred estimates 95 have the truth between `low` and `high`."""
_NONE_SEEN = 3
"""Nobody seen in a part: up to three may be there, 95 times of a hundred."""


_COUNTED = 40
"""Users in the first part up to which all parts are read: about 10,000 in all."""
_MAX_CONCURRENT = 16


class ReachEstimate(NamedTuple):
    """Users of the directory. `seen` of them were looked at, `met` of these would get it."""

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

    async def __call__(self, tenant: TenantId, segment: str | None, /) -> ReachEstimate:
        holds = None if segment is None else (await self._segments.of(tenant, segment)).contains
        first = stable_hash(segment or "*") % BUCKETS
        seen, met = await self._count(tenant, first, holds)
        if seen > _COUNTED:
            return confidence_interval(seen, met)
        for some in batched((part for part in range(BUCKETS) if part != first), _MAX_CONCURRENT):
            found = await asyncio.gather(*(self._count(tenant, part, holds) for part in some))
            seen, met = seen + sum(each[0] for each in found), met + sum(each[1] for each in found)
        return ReachEstimate(met, met, met, seen, met)

    async def _count(
        self, tenant: TenantId, part: int, holds: Callable[[Profile], bool] | None
    ) -> tuple[int, int]:
        """How many users are in this part, and how many of them are meant."""
        seen = met = 0
        below: UserId | None = None
        while True:
            page = await self._profiles.bucket(tenant, part, below)
            seen += len(page.profiles)
            met += sum(holds is None or holds(each) for each in page.profiles)
            below = page.below
            if below is None:
                return seen, met


def confidence_interval(seen: int, met: int) -> ReachEstimate:
    """Each user is in one of the parts by chance: how many are in one is spread by the root of it."""
    spread = _SURE * sqrt(met) if met else _NONE_SEEN
    low, high = max(met, round(BUCKETS * (met - spread))), round(BUCKETS * (met + spread))
    return ReachEstimate(BUCKETS * met, low, high, seen, met)
