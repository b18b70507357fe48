"""Who of a chunk is not given a notice, because its inbox wants users with a profile and he has none."""

from collections.abc import Collection, Sequence

from tidings.kernel.ids import TenantId, UserId
from tidings.notices.inboxes import InboxConfigCache
from tidings.notices.ports import UserDirectory


class UnknownUserFilter:
    def __init__(self, inboxes: InboxConfigCache, directory: UserDirectory) -> None:
        self._inboxes = inboxes
        self._directory = directory

    async def among(self, tenant: TenantId, inbox: str, users: Sequence[UserId]) -> Collection[UserId]:
        """Nobody, and nothing is read, where the inbox is for everybody."""
        if not (await self._inboxes.of(tenant, inbox)).is_for_known_users:
            return ()
        known = await self._directory.known(tenant, users)
        return [user for user in users if user not in known]
