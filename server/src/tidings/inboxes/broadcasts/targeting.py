"""What of an inbox's broadcasts one user gets: by the log, his segments, the steps of ramps, and when he came.

His profile is read only where something hangs on it: a live broadcast has a segment, or he looks for the first time.
"""

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

from tidings.inboxes.broadcasts.log import BroadcastLogCache
from tidings.inboxes.broadcasts.model import BUCKETS, BroadcastIndex, BroadcastLogId, Profile, UserBroadcasts
from tidings.inboxes.broadcasts.ports import ProfileStore
from tidings.inboxes.broadcasts.segments import SegmentService
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.ids import TenantId, UserId, stable_hash


class BroadcastTargeting:
    def __init__(
        self, followers: BroadcastLogCache, segments: SegmentService, profiles: ProfileStore
    ) -> None:
        self._followers = followers
        self._segments = segments
        self._profiles = profiles

    async def of(
        self, log: BroadcastLogId, user: UserId, *, is_joined: bool, at_least: int = 0
    ) -> UserBroadcasts:
        board = await self._followers.index(log, at_least)
        if not board.releases:
            return UserBroadcasts(board, 0, 0)
        if is_joined and not board.segments:
            return UserBroadcasts(board, board.reached(stable_hash(user), ()), 0)
        return await self._by_profile(board, log.tenant, user)

    async def is_in(self, tenant: TenantId, segment: str, user: UserId) -> bool:
        """By his profile as it is now."""
        profile = await self._profiles.read(tenant, user) or Profile(user=user)
        return segment in await self._segments.holding(tenant, [segment], profile)

    async def _by_profile(self, index: BroadcastIndex, tenant: TenantId, user: UserId) -> UserBroadcasts:
        """Nobody told when a user came who has no profile: he gets everything that is live."""
        profile = await self._profiles.read(tenant, user) or Profile(user=user)
        names = await self._segments.holding(tenant, index.segments, profile)
        return UserBroadcasts(
            index, index.reached(stable_hash(user), names), index.until_ms(profile.created_ms - 1)
        )


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
        others = (self._count(tenant, part, holds) for part in range(BUCKETS) if part != first)
        found = await gather_limited(others, _MAX_CONCURRENT)
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


DOLLARS_PER_UNIT = 0.625 / 1_000_000
BROADCAST_UNITS = 6
"""The key 1, the content in a transaction 4, the entry of the log 1; an item of up to 1 KB each."""
STEP_UNITS = 1
COPY_UNITS = 4
"""The row of a user and his counts, in one transaction."""


class CostEstimate(NamedTuple):
    write_units: int
    dollars: float
    copied_write_units: int
    copied_dollars: float


def estimate_cost(users: int, steps: int = 1) -> CostEstimate:
    """What users do with it is theirs: about a write for each who reads it."""
    units, copied = BROADCAST_UNITS + STEP_UNITS * (steps - 1), BROADCAST_UNITS + COPY_UNITS * users
    return CostEstimate(
        units, round(units * DOLLARS_PER_UNIT, 6), copied, round(copied * DOLLARS_PER_UNIT, 6)
    )
