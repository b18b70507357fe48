"""Who gets a chat's entries: read anew each time, or kept by a worker that sees every entry pass."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from tidings.chats.model import ChatType, Membership, type_of
from tidings.delivery import rules
from tidings.delivery.ports import Audience, Crowd, Members
from tidings.kernel.ids import ChatKey
from tidings.messages.model import Entry


class ReadAudience:
    """Strong reads after the commit: what they show is as of the entry, or later."""

    def __init__(self, chats: Members) -> None:
        self._chats = chats

    async def of(self, chat: ChatKey, as_of: int) -> Crowd:
        del as_of
        row = None if type_of(chat.chat) is ChatType.DIRECT else await self._chats.chat(chat)
        if row is not None and row.large_since is not None:
            return Crowd((), row.large_since)
        return Crowd(await self._chats.members(chat))

    async def everyone(self, chat: ChatKey) -> Sequence[Membership]:
        return await self._chats.members(chat)


@dataclass(slots=True)
class _Kept:
    crowd: Crowd
    as_of: int


class KeptAudience:
    """A crowd as of n is right at m > n if no entry of `(n, m]` moved anybody: `follow` is shown those entries.

    Whatever it was not shown without a hole is read again. A large chat's crowd lists nobody and is large for good, so
    nothing moves it. What is kept is bounded by the number of members.
    """

    def __init__(self, source: Audience, max_members: int = 100_000) -> None:
        self._source = source
        self._max_members = max_members
        self._kept: OrderedDict[ChatKey, _Kept] = OrderedDict()
        self._members = 0

    def follow(self, chat: ChatKey, run: Sequence[Entry]) -> None:
        """Before the run is handled. It has no holes."""
        kept = self._kept.get(chat)
        above = [] if kept is None else [entry for entry in run if entry.sequence > kept.as_of]
        if kept is None or not above:
            return
        is_next = above[0].sequence == kept.as_of + 1
        if kept.crowd.large_since is None and (not is_next or any(map(rules.moves_members, above))):
            self._drop(chat)
        else:
            kept.as_of = above[-1].sequence

    async def of(self, chat: ChatKey, as_of: int) -> Crowd:
        kept = self._kept.get(chat)
        if kept is not None and kept.as_of >= as_of:
            self._kept.move_to_end(chat)
            return kept.crowd
        crowd = await self._source.of(chat, as_of)
        self._keep(chat, _Kept(crowd, as_of))
        return crowd

    async def everyone(self, chat: ChatKey) -> Sequence[Membership]:
        return await self._source.everyone(chat)

    def _keep(self, chat: ChatKey, kept: _Kept) -> None:
        self._drop(chat)
        self._kept[chat] = kept
        self._members += _weight(kept)
        while self._members > self._max_members:
            self._drop(next(iter(self._kept)))

    def _drop(self, chat: ChatKey) -> None:
        kept = self._kept.pop(chat, None)
        self._members -= 0 if kept is None else _weight(kept)


def _weight(kept: _Kept) -> int:
    return 1 + len(kept.crowd.members)
