"""Read chats and their members, for members only; cache the members of direct chats."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from tidings.chats.model import Chat, ChatType, MemberPage, Membership, chat_type, require_membership
from tidings.chats.ports import ChatStore, MembershipReader
from tidings.kernel.clock import Clock, SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.messages.model import NO_SUCH_CHAT, Interval

MAX_CACHED = 10_000
PAIR_KEEP_S = 300.0
"""How long the members of a direct chat are cached. An erasure waits longer than this after it has blocked the chat."""


class DirectChatCache:
    """Cache the two members of direct chats. They change only if one of them is erased.

    An erasure blocks the chat before it replaces the member. A pair with a block is not cached, and others expire after
    `PAIR_KEEP_S`, so no process has the old member when they are replaced. Groups are read each time. Blocks may change,
    so they are not cached.
    """

    def __init__(
        self, rows: MembershipReader, *, max_chats: int = MAX_CACHED, clock: Clock | None = None
    ) -> None:
        self._rows = rows
        self._max_chats = max_chats
        self._clock = clock or SystemClock()
        self._pairs: OrderedDict[ChatKey, tuple[Sequence[Membership], float]] = OrderedDict()

    async def intervals(self, chat: ChatKey, user: UserId) -> Sequence[Interval]:
        """Return a user's intervals. Always reads for a stranger, so that the response time shows nothing."""
        if chat_type(chat.chat) is ChatType.GROUP:
            row = await self._rows.membership(chat, user)
            return () if row is None else row.intervals
        return _intervals(self._cached(chat), user) or _intervals(await self._read(chat), user)

    async def members(self, chat: ChatKey) -> Sequence[Membership]:
        if chat_type(chat.chat) is ChatType.GROUP:
            return await self._rows.members(chat)
        return self._cached(chat) or await self._read(chat)

    async def chat(self, chat: ChatKey) -> Chat | None:
        return await self._rows.chat(chat)

    async def membership(self, chat: ChatKey, user: UserId) -> Membership | None:
        return await self._rows.membership(chat, user)

    def _cached(self, chat: ChatKey) -> Sequence[Membership]:
        pair, read_at = self._pairs.get(chat, ((), 0.0))
        if not pair or self._clock.monotonic() - read_at >= PAIR_KEEP_S:
            return ()
        self._pairs.move_to_end(chat)
        return pair

    async def _read(self, chat: ChatKey) -> Sequence[Membership]:
        read_at = self._clock.monotonic()
        found = await self._rows.members(chat)
        if not found:
            return ()  # Not cached: the chat may be created at any time.
        pair = tuple(replace(row, right_since=0, blocks_other=False, blocked_by_other=False) for row in found)
        if any(row.blocks_other for row in found):
            self._pairs.pop(chat, None)
            return pair
        self._pairs[chat] = pair, read_at
        if len(self._pairs) > self._max_chats:
            self._pairs.popitem(last=False)
        return pair


def _intervals(pair: Sequence[Membership], user: UserId) -> Sequence[Interval]:
    return next((row.intervals for row in pair if row.user == user), ())


MAX_LIMIT = 200


class ChatView(NamedTuple):
    """A chat, and the membership of the user who reads it. `now_ms`: mutes and slow mode are compared with it."""

    chat: Chat
    own: Membership
    now_ms: int


class ChatQueries:
    def __init__(self, store: ChatStore, clock: Clock) -> None:
        self._clock = clock
        self._store = store

    async def chat(self, chat: ChatKey, user: UserId) -> ChatView:
        own = await self._own(chat, user)
        found = await self._store.find_chat(chat)
        if found is None:
            raise TidingsError(Code.CHAT_NOT_FOUND, NO_SUCH_CHAT)
        return ChatView(found, own, self._clock.now_ms())

    async def members(
        self, chat: ChatKey, user: UserId, after: UserId | None, limit: int
    ) -> MemberPage[Membership]:
        """Return members by user id. Rows of former members are skipped, so this may read several pages."""
        await self._own(chat, user)
        wanted, found, last = min(max(limit, 1), MAX_LIMIT), list[Membership](), after
        while True:
            part = await self._store.member_page(chat, last, wanted - len(found))
            found += [row for row in part.items if row.is_member]
            last = part.last
            if last is None or len(found) >= wanted:
                return MemberPage(tuple(found), last)

    async def blocks(
        self, tenant: TenantId, user: UserId, after: UserId | None, limit: int
    ) -> MemberPage[UserId]:
        return await self._store.blocks(tenant, user, after, min(max(limit, 1), MAX_LIMIT))

    async def _own(self, chat: ChatKey, user: UserId) -> Membership:
        """Check the membership before any other read: a stranger must not learn whether the chat exists."""
        return require_membership(await self._store.membership(chat, user))
