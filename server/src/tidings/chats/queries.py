"""Who is in a direct chat: the two whom it was made for, from its first entry on and for good. Once read, it is known.

Groups are read each time. What does change in a direct chat, who blocks whom, is not in what is kept.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from tidings.chats.model import Chat, ChatType, MemberPage, Membership, chat_type, require_membership
from tidings.chats.ports import ChatReader
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.messages.model import NO_SUCH_CHAT, Interval

MAX_CACHED = 10_000


class MembershipReader(Protocol):
    """Strong."""

    async def chat(self, chat: ChatKey) -> Chat | None: ...

    async def membership(self, chat: ChatKey, user: UserId) -> Membership | None: ...

    async def members(self, chat: ChatKey) -> Sequence[Membership]: ...


class DirectChatCache:
    """Rows of memberships are never deleted, and nobody joins or leaves a direct chat: what is kept cannot age."""

    def __init__(self, rows: MembershipReader, *, kept: int = MAX_CACHED) -> None:
        self._rows = rows
        self._kept = kept
        self._pairs: OrderedDict[ChatKey, Sequence[Membership]] = OrderedDict()

    async def intervals(self, chat: ChatKey, user: UserId) -> Sequence[Interval]:
        """For a stranger it is read, whatever is known here: his answer takes as long as for a chat that is not there."""
        if chat_type(chat.chat) is ChatType.GROUP:
            row = await self._rows.membership(chat, user)
            return () if row is None else row.intervals
        return _intervals(self._known(chat), user) or _intervals(await self._read(chat), user)

    async def members(self, chat: ChatKey) -> Sequence[Membership]:
        if chat_type(chat.chat) is ChatType.GROUP:
            return await self._rows.members(chat)
        return self._known(chat) or await self._read(chat)

    async def chat(self, chat: ChatKey) -> Chat | None:
        return await self._rows.chat(chat)

    def _known(self, chat: ChatKey) -> Sequence[Membership]:
        pair = self._pairs.get(chat)
        if pair is None:
            return ()
        self._pairs.move_to_end(chat)
        return pair

    async def _read(self, chat: ChatKey) -> Sequence[Membership]:
        """Nobody yet: the chat may be made at any time, so that is not kept."""
        found = await self._rows.members(chat)
        if not found:
            return ()
        pair = tuple(replace(row, right_since=0, blocks_other=False, blocked_by_other=False) for row in found)
        self._pairs[chat] = pair
        if len(self._pairs) > self._kept:
            self._pairs.popitem(last=False)
        return pair


def _intervals(pair: Sequence[Membership], user: UserId) -> Sequence[Interval]:
    return next((row.intervals for row in pair if row.user == user), ())


MAX_LIMIT = 200


class ChatView(NamedTuple):
    """A chat, and what the one who asks is in it."""

    chat: Chat
    own: Membership


class ChatQueries:
    def __init__(self, reader: ChatReader) -> None:
        self._shelf = reader

    async def chat(self, chat: ChatKey, user: UserId) -> ChatView:
        own = await self._own(chat, user)
        found = await self._shelf.chat(chat)
        if found is None:
            raise TidingsError(Code.CHAT_NOT_FOUND, NO_SUCH_CHAT)
        return ChatView(found, own)

    async def members(
        self, chat: ChatKey, user: UserId, after: UserId | None, limit: int
    ) -> MemberPage[Membership]:
        """By user id. Rows of those who left stand between: the list is read on until enough are found."""
        await self._own(chat, user)
        wanted, found, last = min(max(limit, 1), MAX_LIMIT), list[Membership](), after
        while True:
            part = await self._shelf.members(chat, last, wanted - len(found))
            found += [row for row in part.items if row.is_member]
            last = part.last
            if last is None or len(found) >= wanted:
                return MemberPage(tuple(found), last)

    async def blocks(
        self, tenant: TenantId, user: UserId, after: UserId | None, limit: int
    ) -> MemberPage[UserId]:
        return await self._shelf.blocks(tenant, user, after, min(max(limit, 1), MAX_LIMIT))

    async def _own(self, chat: ChatKey, user: UserId) -> Membership:
        """First of all: a stranger learns nothing, not even whether there is such a chat."""
        return require_membership(await self._shelf.membership(chat, user))
