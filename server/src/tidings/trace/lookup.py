"""Find messages of a chat by time, and the chats of a user, without a Scan. Content is never read."""

import asyncio
from collections.abc import Sequence
from itertools import batched
from typing import NamedTuple

from tidings.chats.model import Chat, Membership
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.messages.model import Entry
from tidings.trace.ports import ChatsReader, LogTimeline, MembershipReader

MAX_CONCURRENT_CHATS = 25
"""Chats per read of names. The newest entries of these chats are read concurrently."""

_NO_END = 10**15 - 1
"""Above every sequence."""


class MessageRange(NamedTuple):
    """Entries of a chat, oldest first, and whether there are others on either side."""

    entries: Sequence[Entry]
    has_earlier: bool
    has_later: bool


class UserChat(NamedTuple):
    """`chat` is None if its row is not visible yet, `newest` if the replica that answered has no entry of the chat."""

    id: ChatId
    membership: Membership
    chat: Chat | None
    newest: Entry | None

    @property
    def last_activity_ms(self) -> int:
        return 0 if self.newest is None else self.newest.created_at_ms


class MessageFinder:
    def __init__(self, timeline: LogTimeline) -> None:
        self._timeline = timeline

    async def find_around(self, chat: ChatKey, at_ms: int | None, limit: int) -> MessageRange:
        """Return `limit` entries around a time, half of them before it; None: the newest.

        Costs one GetItem per halving of the log and one page. Each process stamps entries by its own clock, so times
        may go back by the difference of two clocks; that moves the page by the few entries concerned.
        """
        newest = await self._timeline.metadata(chat, 0, _NO_END, 1)
        if not newest:
            raise TidingsError(
                Code.CHAT_NOT_FOUND,
                f"The tenant {chat.tenant!r} has no chat {chat.chat!r}.",
                hint="`tidings user chats TENANT USER` lists the chats of a user.",
            )
        head = newest[0].sequence
        first = head + 1 if at_ms is None else await self._first_since(chat, at_ms, head)
        up_to = min(head, max(first + (limit - 1) // 2, limit))
        after = max(0, up_to - limit)
        entries = await self._timeline.metadata(chat, after, up_to, limit)
        return MessageRange(entries[::-1], has_earlier=after > 0, has_later=up_to < head)

    async def _first_since(self, chat: ChatKey, at_ms: int, head: int) -> int:
        """Return the first sequence that was committed at this time or later; `head + 1` if there is none."""
        low, high = 1, head + 1
        while low < high:
            middle = (low + high) // 2
            committed_ms = await self._timeline.committed_at_ms(chat, middle)
            # An entry that the replica does not have yet is newer than every entry that it has.
            if committed_ms is None or committed_ms >= at_ms:
                high = middle
            else:
                low = middle + 1
        return low


class UserChatFinder:
    def __init__(
        self, read_memberships: MembershipReader, read_chats: ChatsReader, timeline: LogTimeline
    ) -> None:
        self._read_memberships = read_memberships
        self._read_chats = read_chats
        self._timeline = timeline

    async def page(
        self, tenant: TenantId, user: UserId, after: ChatId | None, limit: int
    ) -> Sequence[UserChat]:
        """Return one page of the user's chats, sorted by last activity. Pages are in the order of chat ids."""
        rows = await self._read_memberships(tenant, user, after, limit)
        found: list[UserChat] = []
        for some in batched(rows, MAX_CONCURRENT_CHATS):
            chats = await self._read_chats(tenant, [chat for chat, _ in some])
            reads = (self._newest(ChatKey(tenant, chat)) for chat, _ in some)
            newest = await asyncio.gather(*reads)
            found += [
                UserChat(chat, row, chats.get(chat), entry)
                for (chat, row), entry in zip(some, newest, strict=True)
            ]
        return sorted(found, key=lambda each: each.last_activity_ms, reverse=True)

    async def count(self, tenant: TenantId, user: UserId, up_to: int) -> int | None:
        """Count the chats that the user is in, in one read. None if they are or were in more than `up_to`."""
        rows = await self._read_memberships(tenant, user, None, up_to + 1)
        return None if len(rows) > up_to else sum(row.is_member for _, row in rows)

    async def _newest(self, chat: ChatKey) -> Entry | None:
        found = await self._timeline.metadata(chat, 0, _NO_END, 1)
        return found[0] if found else None
