"""Who is in a direct chat: the two whom it was made for, from its first entry on and for good. Once read, it is known.

Groups are read each time. What does change in a direct chat, who blocks whom, is not in what is kept.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

from msgspec.structs import replace

from tidings.chats.model import Chat, ChatType, Interval, Membership, chat_type
from tidings.kernel.ids import ChatKey, UserId

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
