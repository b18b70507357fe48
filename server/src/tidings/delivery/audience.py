"""The audience of a chat: its members, read each time or cached by a worker that sees every entry."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from tidings.chats.model import ChatType, Membership, chat_type
from tidings.chats.ports import MembershipReader
from tidings.delivery import rules
from tidings.delivery.ports import AudienceReader, AudienceSnapshot
from tidings.kernel.ids import ChatKey
from tidings.messages.model import Entry


class StoredAudience:
    """Reads the audience after the commit, strongly consistent: it is as of the entry, or later."""

    def __init__(self, chats: MembershipReader) -> None:
        self._chats = chats

    async def of(self, chat: ChatKey, as_of: int) -> AudienceSnapshot:
        del as_of
        row = None if chat_type(chat.chat) is ChatType.DIRECT else await self._chats.chat(chat)
        if row is not None and row.large_since is not None:
            return AudienceSnapshot((), row.large_since)
        # Race: a join makes the chat large between the two reads. The caller's entries were committed before that join,
        # so they still go to the members' routes.
        return AudienceSnapshot(await self._chats.members(chat))

    async def everyone(self, chat: ChatKey) -> Sequence[Membership]:
        return await self._chats.members(chat)


@dataclass(slots=True)
class _CachedMembers:
    snapshot: AudienceSnapshot
    as_of: int

    @property
    def weight(self) -> int:
        return 1 + len(self.snapshot.members)


class CachedAudience:
    """Cache audiences. A snapshot of sequence n is valid at m > n if no entry of `(n, m]` is a join or a leave.

    The worker passes every run of entries to `follow`. After a gap the audience is read again. The audience of a large
    chat has no members and stays large, so no entry invalidates it. The total number of members is bounded. Direct chats
    are not cached here: the source caches their members, and an erasure replaces a member without an entry.
    """

    def __init__(self, source: AudienceReader, max_members: int = 100_000) -> None:
        self._source = source
        self._max_members = max_members
        self._cache: OrderedDict[ChatKey, _CachedMembers] = OrderedDict()
        self._members = 0

    def follow(self, chat: ChatKey, run: Sequence[Entry]) -> None:
        """Advance or drop the chat's snapshot. Call before the run is processed; it has no gaps."""
        # Race: another process appends a join or leave while this worker has a cached audience. The worker receives
        # that entry in order before any later one, so it drops the audience before it fans out an entry that follows.
        cached = self._cache.get(chat)
        newer = [] if cached is None else [entry for entry in run if entry.sequence > cached.as_of]
        if cached is None or not newer:
            return
        is_next = newer[0].sequence == cached.as_of + 1
        if cached.snapshot.large_since is None and (not is_next or any(map(rules.changes_members, newer))):
            self._drop(chat)
        else:
            cached.as_of = newer[-1].sequence

    async def of(self, chat: ChatKey, as_of: int) -> AudienceSnapshot:
        if chat_type(chat.chat) is ChatType.DIRECT:
            return await self._source.of(chat, as_of)
        cached = self._cache.get(chat)
        if cached is not None and cached.as_of >= as_of:
            self._cache.move_to_end(chat)
            return cached.snapshot
        snapshot = await self._source.of(chat, as_of)
        # Race: another process appends a join or leave above `as_of` before this read, so the snapshot is newer than
        # `as_of`. That is safe: intervals limit what each member receives, entries up to `large_since` go to routes,
        # and `follow` drops the snapshot when the worker reaches that entry.
        self._store(chat, _CachedMembers(snapshot, as_of))
        return snapshot

    async def everyone(self, chat: ChatKey) -> Sequence[Membership]:
        return await self._source.everyone(chat)

    def _store(self, chat: ChatKey, cached: _CachedMembers) -> None:
        self._drop(chat)
        self._cache[chat] = cached
        self._members += cached.weight
        while self._members > self._max_members:
            self._drop(next(iter(self._cache)))

    def _drop(self, chat: ChatKey) -> None:
        cached = self._cache.pop(chat, None)
        self._members -= 0 if cached is None else cached.weight
