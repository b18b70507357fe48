"""Who gets a chat's entries: read anew each time, or kept by a worker that sees every entry pass."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from tidings.chats.model import ChatType, Membership, chat_type
from tidings.delivery import rules
from tidings.delivery.ports import AudienceReader, AudienceSnapshot, MemberReader
from tidings.kernel.ids import ChatKey
from tidings.messages.model import Entry


class StoredAudience:
    """Strong reads after the commit: what they show is as of the entry, or later."""

    def __init__(self, chats: MemberReader) -> None:
        self._chats = chats

    async def of(self, chat: ChatKey, as_of: int) -> AudienceSnapshot:
        del as_of
        row = None if chat_type(chat.chat) is ChatType.DIRECT else await self._chats.chat(chat)
        if row is not None and row.large_since is not None:
            return AudienceSnapshot((), row.large_since)
        return AudienceSnapshot(await self._chats.members(chat))

    async def everyone(self, chat: ChatKey) -> Sequence[Membership]:
        return await self._chats.members(chat)


@dataclass(slots=True)
class _CachedMembers:
    snapshot: AudienceSnapshot
    as_of: int


class CachedAudience:
    """A crowd as of n is right at m > n if no entry of `(n, m]` moved anybody: `follow` is shown those entries.

    Whatever it was not shown without a hole is read again. A large chat's crowd lists nobody and is large for good, so
    nothing moves it. What is kept is bounded by the number of members.
    """

    def __init__(self, source: AudienceReader, max_members: int = 100_000) -> None:
        self._source = source
        self._max_members = max_members
        self._cache: OrderedDict[ChatKey, _CachedMembers] = OrderedDict()
        self._members = 0

    def follow(self, chat: ChatKey, run: Sequence[Entry]) -> None:
        """Before the run is handled. It has no holes."""
        kept = self._cache.get(chat)
        above = [] if kept is None else [entry for entry in run if entry.sequence > kept.as_of]
        if kept is None or not above:
            return
        is_next = above[0].sequence == kept.as_of + 1
        if kept.snapshot.large_since is None and (not is_next or any(map(rules.changes_members, above))):
            self._drop(chat)
        else:
            kept.as_of = above[-1].sequence

    async def of(self, chat: ChatKey, as_of: int) -> AudienceSnapshot:
        kept = self._cache.get(chat)
        if kept is not None and kept.as_of >= as_of:
            self._cache.move_to_end(chat)
            return kept.snapshot
        crowd = await self._source.of(chat, as_of)
        self._store(chat, _CachedMembers(crowd, as_of))
        return crowd

    async def everyone(self, chat: ChatKey) -> Sequence[Membership]:
        return await self._source.everyone(chat)

    def _store(self, chat: ChatKey, kept: _CachedMembers) -> None:
        self._drop(chat)
        self._cache[chat] = kept
        self._members += _weight(kept)
        while self._members > self._max_members:
            self._drop(next(iter(self._cache)))

    def _drop(self, chat: ChatKey) -> None:
        kept = self._cache.pop(chat, None)
        self._members -= 0 if kept is None else _weight(kept)


def _weight(kept: _CachedMembers) -> int:
    return 1 + len(kept.snapshot.members)
