"""What of an inbox's broadcasts one user gets: by the log, his segments, the steps of ramps, and when he came.

His profile is read only where something hangs on it: a live broadcast has a segment, or he looks for the first time.
"""

from tidings.broadcasts.follow import Followers
from tidings.broadcasts.model import Board, LogId, Profile, Shown
from tidings.broadcasts.ports import ProfileStore
from tidings.broadcasts.segments import Segments
from tidings.kernel.ids import TenantId, UserId, hash_of


class Audience:
    def __init__(self, followers: Followers, segments: Segments, profiles: ProfileStore) -> None:
        self._followers = followers
        self._segments = segments
        self._profiles = profiles

    async def of(self, log: LogId, user: UserId, *, is_joined: bool, at_least: int = 0) -> Shown:
        board = await self._followers.board(log, at_least)
        if not board.showings:
            return Shown(board, 0, 0)
        if is_joined and not board.segments:
            return Shown(board, board.reached(hash_of(user), ()), 0)
        return await self._by_profile(board, log.tenant, user)

    async def is_in(self, tenant: TenantId, segment: str, user: UserId) -> bool:
        """By his profile as it is now."""
        profile = await self._profiles.read(tenant, user) or Profile(user=user)
        return segment in await self._segments.holding(tenant, [segment], profile)

    async def _by_profile(self, board: Board, tenant: TenantId, user: UserId) -> Shown:
        """Nobody told when a user came who has no profile: he gets everything that is live."""
        profile = await self._profiles.read(tenant, user) or Profile(user=user)
        names = await self._segments.holding(tenant, board.segments, profile)
        return Shown(board, board.reached(hash_of(user), names), board.until_ms(profile.created_ms - 1))
