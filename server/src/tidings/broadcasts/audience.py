"""What of an inbox's broadcasts one user gets: by the log, his segments, the steps of ramps, and when he came.

His profile is read only where something hangs on it: a live broadcast has a segment, or he looks for the first time.
"""

from tidings.broadcasts.follow import BroadcastLogCache
from tidings.broadcasts.model import BroadcastIndex, BroadcastLogId, Profile, UserBroadcasts
from tidings.broadcasts.ports import ProfileStore
from tidings.broadcasts.segments import SegmentService
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
