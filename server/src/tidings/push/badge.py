"""The number on an app's icon: the same in the REST API, in notifications and in the SDKs."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from tidings.delivery.model import UnreadTotals
from tidings.kernel.ids import TenantId, UserId
from tidings.tenants.model import TenantLookup

type ReadUnreadTotals = Callable[[TenantId, UserId], Awaitable[UnreadTotals]]
type ReadInboxUnread = Callable[[TenantId, UserId], Awaitable[int]]
"""Return the unread notifications of a user in all inboxes of the tenant."""


class Badge(NamedTuple):
    """`total` is shown: unread messages or chats, as the tenant chooses, plus unread notifications."""

    total: int
    messages: int
    chats: int
    notifications: int


class BadgeReader:
    def __init__(
        self, unread: ReadUnreadTotals, inbox_unread: ReadInboxUnread, tenants: TenantLookup
    ) -> None:
        self._unread = unread
        self._inbox_unread = inbox_unread
        self._tenants = tenants

    async def read(self, tenant: TenantId, user: UserId) -> Badge:
        unread, notifications = await self._unread(tenant, user), await self._inbox_unread(tenant, user)
        found = await self._tenants.find(tenant)
        counts_chats = found is not None and found.settings.push.counts_chats
        chats = unread.chats if counts_chats else unread.messages
        return Badge(chats + notifications, unread.messages, unread.chats, notifications)

    async def total(self, tenant: TenantId, user: UserId) -> int:
        return (await self.read(tenant, user)).total
