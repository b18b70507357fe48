"""Write one chat: claim it, write its log, then let its members read it.

Every step can be repeated. The tables show how far an earlier run came: see docs/adr/0038.
"""

import asyncio
import hashlib
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from tidings.chats.model import SOME_MEMBERS, Chat, ChatType, ImportState, ImportStep, ImportTotals
from tidings.delivery.model import LogPosition, RowUpdate
from tidings.imports.chat_log import ImportedChatLog, MembersChange, MemberState, PlannedEntry
from tidings.imports.model import (
    ChatLine,
    FoundFile,
    ImportStats,
    MemberLine,
    MessageLine,
    imported_upload_id,
    to_ms,
)
from tidings.imports.ports import ImportDeps
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, ClientKey, UserId
from tidings.media.model import ImportedFile
from tidings.messages.model import Entry, EntryKind, IdempotencyKey
from tidings.schema.tables.limits import REACTORS

CHUNK_ENTRIES: Final = 100
MAX_CHUNKS: Final = 8
"""Chunks of one chat that are in flight. A chunk starts after the eighth before it is written."""
REWRITTEN: Final = (MAX_CHUNKS + 1) * CHUNK_ENTRIES
"""Entries below the newest one that an interrupted run may not have written."""

type _Reactions = list[tuple[int, UserId, str, int]]


@dataclass(slots=True)
class _Chunk:
    """Entries that are written together, with their reactions and files."""

    entries: list[Entry] = field(default_factory=list)
    reactions: _Reactions = field(default_factory=list)
    files: list[ImportedFile] = field(default_factory=list)


class ChatImport:
    """The import of one chat. Call `add` for its messages in their order, then `finish`."""

    def __init__(
        self,
        deps: ImportDeps,
        stats: ImportStats,
        key: ChatKey,
        line: ChatLine,
        members: Sequence[MemberLine],
    ) -> None:
        self._deps = deps
        self._stats = stats
        self._log = ImportedChatLog(line, members)
        self.key = key
        self._state: ImportState | None = None
        self._newest: Entry | None = None
        self._chunk = _Chunk()
        self._in_flight: deque[asyncio.Task[None]] = deque()

    async def add(self, messages: Iterable[MessageLine]) -> None:
        for message in messages:
            for planned in self._log.add(message):
                await self._write(planned)
            self._stats.messages += 1

    async def finish(self) -> None:
        """Write what is left, and let the members read the chat."""
        for planned in self._log.finish():
            await self._write(planned)
        await self._flush()
        while self._in_flight:
            await self._in_flight.popleft()
        state = self._state
        if state is None or state.step is ImportStep.NONE:
            return
        if state.step is ImportStep.FINISHED:
            self._report_difference(state.entries)
            return
        if state.step is ImportStep.LOG:
            if self._newest is not None and self._newest.sequence > self._log.head:
                raise self._other_file()
            await self._deps.failpoints.hit("import.log_written")
            await self._deps.chats.open(self.key, self._totals())
        await self._add_members()
        await self._deps.failpoints.hit("import.members_added")
        await self._deps.chats.finish(self.key, self._log.head)
        self._stats.chats += 1

    async def abort(self) -> None:
        """Wait for writes in flight, after an error."""
        await asyncio.gather(*self._in_flight, return_exceptions=True)

    async def _write(self, planned: PlannedEntry) -> None:
        """Write an entry, unless an earlier run has. Chunks are written together."""
        if self._state is None:
            await self._claim()
        if self._state is None or self._state.step is not ImportStep.LOG:
            return
        if self._newest is not None:
            if planned.sequence == self._newest.sequence and not _is_same(planned, self._newest):
                raise self._other_file()
            if planned.sequence <= self._newest.sequence - REWRITTEN:
                return
        chunk, change = self._chunk, planned.change
        chunk.entries.append(await self._entry(planned))
        if isinstance(change, MessageLine):
            chunk.reactions += _reactions(planned, change)
            chunk.files += self._imported_files(planned, change)
        if len(chunk.entries) + len(chunk.reactions) >= CHUNK_ENTRIES:
            await self._flush()

    async def _claim(self) -> None:
        line = self._log.chat
        chat = Chat(
            key=self.key,
            type=ChatType(line.kind),
            created_by=self._log.created_by,
            member_count=0,
            name=line.name if line.kind == "group" else None,
        )
        self._state = await self._deps.chats.claim(chat, self._log.created_ms)
        if self._state.step is ImportStep.LOG and not self._state.is_new:
            self._newest = await self._deps.log.newest(self.key)
        if self._state.step is ImportStep.NONE:
            self._stats.skip(f"`{line.id}`: the users already have a direct chat. It was not imported.")
        if self._state.step is ImportStep.FINISHED:
            self._stats.chats_known += 1

    async def _flush(self) -> None:
        if not self._chunk.entries:
            return
        # A chunk starts only after the chunk `MAX_CHUNKS` before it is written. So if an entry is in the log, all
        # entries more than `REWRITTEN` before it are, too.
        if len(self._in_flight) >= MAX_CHUNKS:
            await self._in_flight.popleft()
        chunk, self._chunk = self._chunk, _Chunk()
        self._in_flight.append(asyncio.create_task(self._write_chunk(chunk)))

    async def _write_chunk(self, chunk: _Chunk) -> None:
        """Store the files first: an entry in the log has its files, so an import that continues after it need not look."""
        if chunk.files:
            self._stats.attachments += sum(await gather_limited(map(self._deps.store_file, chunk.files)))
        await self._deps.turn.keep()
        await self._deps.log.write(self.key, chunk.entries, chunk.reactions)
        self._stats.entries += len(chunk.entries)

    async def _entry(self, planned: PlannedEntry) -> Entry:
        change = planned.change
        if isinstance(change, MembersChange):
            return self._members_entry(planned, change)
        body, files = None, self._files(planned, change)
        if change.deleted_at is None:
            body = self._deps.checks.encode_message(change, planned.reply_to, files)
        keys = await self._deps.keys.of(self.key.tenant, change.user)
        key = IdempotencyKey(change.user, ClientKey(change.id))
        data = self._deps.fingerprint_input(self.key, key, EntryKind.MESSAGE, body or b"")
        entry = Entry(
            sequence=planned.sequence,
            ordinal=planned.ordinal,
            kind=EntryKind.MESSAGE,
            sender=change.user,
            client_key=key.client_key,
            fingerprint=keys.fingerprint(data),
            created_at_ms=planned.at_ms,
            epoch=self._deps.epoch(),
            content=None if body is None else keys.seal(self.key, planned.sequence, body),
            edited_at_ms=None if change.edited_at is None or body is None else to_ms(change.edited_at),
            redacted_at_ms=None if change.deleted_at is None else to_ms(change.deleted_at),
            attachments=tuple(files),
        )
        if not change.reactions:
            return entry
        marks = [f"{each.emoji} {user}" for each in change.reactions for user in each.users]
        counts = {each.emoji: len(each.users) for each in change.reactions}
        return replace(entry, reaction_counts=counts, reaction_users=tuple(marks[:REACTORS]))

    def _files(self, planned: PlannedEntry, change: MessageLine) -> Mapping[str, FoundFile]:
        """Return the files of a message by the ids of their uploads."""
        return {
            imported_upload_id(self.key, change.id, number, planned.at_ms): self._deps.checks.find_file(part)
            for number, part in enumerate(change.attachments)
        }

    def _imported_files(self, planned: PlannedEntry, change: MessageLine) -> list[ImportedFile]:
        author, key = change.user, ClientKey(change.id)
        return [
            ImportedFile(upload, self.key, author, key, planned.sequence, *file)
            for upload, file in self._files(planned, change).items()
        ]

    def _members_entry(self, planned: PlannedEntry, change: MembersChange) -> Entry:
        is_creation = change.kind is EntryKind.CREATE
        return Entry(
            sequence=planned.sequence,
            ordinal=planned.ordinal,
            kind=change.kind,
            sender=change.sender,
            client_key=_members_key(planned.sequence),
            fingerprint=hashlib.sha256(f"{change.kind}|import".encode()).digest()[:16],
            created_at_ms=planned.at_ms,
            epoch=self._deps.epoch(),
            name=self._log.chat.name if is_creation and self._log.chat.kind == "group" else None,
            users=change.users,
            member_count=change.member_count,
        )

    def _totals(self) -> ImportTotals:
        present = [state.user for state in self._log.members.values() if state.is_member]
        return ImportTotals(self._log.member_count, self._log.large_since, frozenset(present[:SOME_MEMBERS]))

    async def _add_members(self) -> None:
        """Write the head and the chat rows, then the memberships.

        Race: a member sends a message as soon as they have a membership. The delivery worker must find the head and, in a
        direct chat, both rows at the end of the import. Otherwise it would deliver the imported entries.
        """
        log, states = self._log, list(self._log.members.values())
        shown = None
        if log.last_message is not None:
            shown = await self._deps.preview(self.key, await self._entry(log.last_message))
        if log.chat.kind == "direct":
            one, other = (state.user for state in states)
            update = RowUpdate(head=log.position, shown=shown)
            for user, peer in ((one, other), (other, one)):
                await self._write_row(log.members[user], replace(update, other=peer))
            await self._add_pair(one, other)
            return
        head = RowUpdate(
            head=log.position,
            shown=shown,
            removed=log.last_leave,
            is_large=log.large_since is not None,
            entry_at_ms=log.last_at_ms,
        )
        await self._deps.rows.raise_head(self.key, 1, head)
        await gather_limited(map(self._add_to_group, states))

    async def _add_pair(self, one: UserId, other: UserId) -> None:
        """Add the users of a direct chat, with the blocks that they set before."""
        tenant = self.key.tenant
        for user, peer in ((one, other), (other, one)):
            blocks = bool(await self._deps.blockers(tenant, [user], peer))
            blocked = bool(await self._deps.blockers(tenant, [peer], user))
            state = self._log.members[user]
            row = replace(state.membership, blocks_other=blocks, blocked_by_other=blocked)
            await self._deps.chats.add_member(self.key, row, state.joined.at_ms)
            self._stats.members += 1

    async def _add_to_group(self, state: MemberState) -> None:
        since = self._log.large_since
        is_large = since is not None and state.named.sequence >= since
        await self._write_row(state, RowUpdate(head=state.named, is_large=is_large))
        await self._deps.chats.add_member(self.key, state.membership, state.joined.at_ms)
        self._stats.members += 1

    async def _write_row(self, state: MemberState, update: RowUpdate) -> None:
        """Write the chat row of a member, who has read everything that they may see."""
        row = replace(update, own=state.own, joined=state.joined, removed=state.removed)
        await self._deps.rows.raise_row(self.key, state.user, 1, row)
        read: LogPosition = self._log.position if state.is_member else state.named
        await self._deps.watermarks.raise_read(self.key, state.user, read)

    def _report_difference(self, entries: int) -> None:
        if entries != self._log.head:
            self._stats.skip(
                f"`{self._log.chat.id}`: it was imported with {entries} entries, and the file has {self._log.head}. "
                "It was not changed."
            )

    def _other_file(self) -> TidingsError:
        return TidingsError(
            Code.REQUEST_INVALID,
            f"The chat `{self._log.chat.id}` is partly imported, from a file with other messages.",
            hint="Continue with the same file as before.",
        )


def _members_key(sequence: int) -> ClientKey:
    return ClientKey("create" if sequence == 1 else f"import-{sequence}")


def _is_same(planned: PlannedEntry, stored: Entry) -> bool:
    if isinstance(planned.change, MembersChange):
        return stored.client_key == _members_key(planned.sequence)
    return stored.client_key == planned.change.id and stored.sender == planned.change.user


def _reactions(planned: PlannedEntry, change: MessageLine) -> _Reactions:
    return [
        (planned.sequence, user, each.emoji, planned.at_ms)
        for each in change.reactions
        for user in each.users
    ]
