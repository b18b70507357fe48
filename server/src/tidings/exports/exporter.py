"""Collect what a user can read into the parts of an archive, step by step.

A step reads a bounded number of entries, stores its parts under its number, and then the cursor. A process may die at
any point: the next one deletes the parts of the unfinished step and repeats it. So no line is missing or doubled, although
the repeated step may end at another entry, because members have sent messages meanwhile.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from tidings.exports import pages
from tidings.exports.archive import OBJECT_LIST, ArchiveWriter
from tidings.exports.model import (
    FORMAT_VERSION,
    Attachment,
    ExportCounts,
    ExportCursor,
    ExportPhase,
    JsonObject,
)
from tidings.exports.ports import AttachmentObjects, PartStore, UserData
from tidings.exports.rules import media_name, page_name
from tidings.kernel.clock import Clock, format_ms
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.kernel.ids import ChatKey, TenantId, UserId

PAGE_ENTRIES: Final = 1_000
"""Entries on one page of a chat. A step ends after the page that fills it."""
STEP_CHATS: Final = 100
READ_ENTRIES: Final = 200
README: Final = b"""This archive has all data that you can read in the app. Open index.html in a browser.

Programs read the other files: a .jsonl file has one JSON object per line, in the format of the REST API of Tidings.
manifest.json lists all files with their SHA-256. Messages that were deleted or have expired are without content.
Times are UTC.
"""
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(ExportCursor).decode


class StepParts:
    """The parts of one step, in memory."""

    def __init__(self) -> None:
        self.bodies: dict[str, bytearray] = {}
        self.entries = 0
        self.chats = 0

    @property
    def is_full(self) -> bool:
        return self.entries >= PAGE_ENTRIES or self.chats >= STEP_CHATS

    def add(self, path: str, body: bytes | str) -> None:
        self.bodies.setdefault(path, bytearray()).extend(body.encode() if isinstance(body, str) else body)

    def add_line(self, path: str, value: object) -> None:
        self.add(path, _encode(value) + b"\n")


class Exporter:
    """Writes one export. `parts` are its own."""

    def __init__(
        self,
        data: UserData,
        parts: PartStore,
        objects: AttachmentObjects | None,
        clock: Clock,
        failpoints: Failpoints = NO_FAILPOINTS,
    ) -> None:
        self._data = data
        self._parts = parts
        self._objects = objects
        self._clock = clock
        self._failpoints = failpoints

    async def collect(self, tenant: TenantId, user: UserId) -> ArchiveWriter:
        """Store all parts, continuing an export that was interrupted. Idempotent.

        Raises `user_not_found`, and `request_invalid` if the parts belong to another export.
        """
        return self.archive(await self.advance(tenant, user))

    async def advance(self, tenant: TenantId, user: UserId, until_ms: int | None = None) -> ExportCursor:
        """Store parts until all are stored, or a step ends after `until_ms`. At least one step. Raises as `collect`."""
        cursor = await self._resume(tenant, user)
        while cursor.phase is not ExportPhase.COLLECTED:
            new = StepParts()
            new.add(OBJECT_LIST, b"")  # Each step stores a part.
            after = await self._step(cursor, new)
            for path, body in new.bodies.items():
                await self._parts.put(path, cursor.step, bytes(body))
            await self._failpoints.hit("exports.parts_stored")
            cursor = replace(after, step=cursor.step + 1)
            await self._parts.put_cursor(_encode(cursor))
            await self._failpoints.hit("exports.step_done")
            if until_ms is not None and self._clock.now_ms() >= until_ms:
                break
        return cursor

    def archive(self, cursor: ExportCursor) -> ArchiveWriter:
        """Return the writer of the archive, when all parts are stored."""
        return ArchiveWriter(self._parts, self._objects, cursor, self._failpoints)

    async def _resume(self, tenant: TenantId, user: UserId) -> ExportCursor:
        stored = await self._parts.read_cursor()
        new = ExportCursor(tenant=tenant, user=user, started_ms=self._clock.now_ms())
        cursor = new if stored is None else _decode(stored)
        if (cursor.version, cursor.tenant, cursor.user) != (FORMAT_VERSION, tenant, user):
            raise TidingsError(
                Code.REQUEST_INVALID,
                f"The stored parts belong to an export of user {cursor.user!r} of tenant {cursor.tenant!r}.",
                hint="Delete them, or export to another file.",
            )
        # A process died between the parts of a step and its cursor. Without the deletion, a chat that the step does not
        # reach this time would be in the archive twice.
        for part in await self._parts.list():
            if part.step >= cursor.step:
                await self._parts.delete(part)
        return cursor

    async def _step(self, cursor: ExportCursor, new: StepParts) -> ExportCursor:
        match cursor.phase:
            case ExportPhase.START:
                return await self._start(cursor, new)
            case ExportPhase.CHATS:
                return await self._chats(cursor, new)
            case ExportPhase.INBOXES:
                return await self._inboxes(cursor, new)
            case _:
                new.add("index.html", pages.index_end(cursor.counts))
                new.add("inbox.html", pages.PAGE_END)
                return replace(cursor, phase=ExportPhase.COLLECTED, finished_ms=self._clock.now_ms())

    async def _start(self, cursor: ExportCursor, new: StepParts) -> ExportCursor:
        documents = await self._data.documents(cursor.tenant, cursor.user)
        for path, value in documents.items():
            new.add(path, msgspec.json.format(_encode(value), indent=1) + b"\n")
        name = documents.get("profile.json", {}).get("display_name")
        new.add("README.txt", README)
        new.add("index.html", pages.index_start(cursor.user, name, format_ms(cursor.started_ms)))
        new.add("inbox.html", pages.inbox_start())
        for path in ("chats.jsonl", "messages.jsonl", "receipts.jsonl", "inbox.jsonl", "media.jsonl"):
            new.add(path, b"")
        return replace(cursor, phase=ExportPhase.CHATS)

    async def _chats(self, cursor: ExportCursor, new: StepParts) -> ExportCursor:
        while not new.is_full:
            if cursor.chat is not None:
                cursor = await self._page(cursor, ChatKey(cursor.tenant, cursor.chat), new)
                continue
            found = await self._data.chats(cursor.tenant, cursor.user, cursor.after_chat, 1)
            if not found:
                return replace(cursor, phase=ExportPhase.INBOXES)
            cursor = await self._begin_chat(cursor, ChatKey(cursor.tenant, found[0]), new)
        return cursor

    async def _begin_chat(self, cursor: ExportCursor, chat: ChatKey, new: StepParts) -> ExportCursor:
        found = await self._data.chat(chat, cursor.user)
        if found is None:
            return replace(cursor, after_chat=chat.chat)
        new.chats += 1
        new.add_line("chats.jsonl", found.fields)
        for receipt in found.receipts:
            new.add_line("receipts.jsonl", {"chat": chat.chat, **receipt})
        return replace(
            cursor,
            counts=replace(cursor.counts, chats=cursor.counts.chats + 1),
            chat=chat.chat,
            number=cursor.number + 1,
            title=found.title,
            page=0,
            after=0,
            chat_entries=0,
        )

    async def _page(self, cursor: ExportCursor, chat: ChatKey, new: StepParts) -> ExportCursor:
        """Write one page of a chat, and the lines of its entries."""
        entries, after, has_next = await self._read_page(cursor, chat)
        uploads = [upload for each in entries for upload in each.get("attachments", ())]
        files = await self._data.attachments(chat, cursor.user, uploads) if uploads else ()
        for each in entries:
            new.add_line("messages.jsonl", {"chat": chat.chat, **each})
        for file in files:
            path = media_name(file.id, file.name)
            public = {"id": file.id, "chat": chat.chat, "file": path, "name": file.name, "type": file.type}
            new.add_line("media.jsonl", public)
            new.add_line(OBJECT_LIST, (path, file.key))
        new.add(
            page_name(cursor.number, cursor.page),
            await self._render(cursor, entries, files, has_next=has_next),
        )
        new.entries += len(entries)
        counts = cursor.counts
        cursor = replace(
            cursor,
            counts=replace(
                counts,
                entries=counts.entries + len(entries),
                attachments=counts.attachments + len(files),
            ),
            page=cursor.page + 1,
            after=after,
            chat_entries=cursor.chat_entries + len(entries),
        )
        if has_next:
            return cursor
        new.add("index.html", pages.index_row(cursor.number, cursor.title, cursor.chat_entries))
        return replace(cursor, after_chat=cursor.chat, chat=None)

    async def _read_page(self, cursor: ExportCursor, chat: ChatKey) -> tuple[list[JsonObject], int, bool]:
        entries: list[JsonObject] = []
        after, has_newer = cursor.after, True
        while has_newer and len(entries) < PAGE_ENTRIES:
            limit = min(READ_ENTRIES, PAGE_ENTRIES - len(entries))
            page = await self._data.entries(chat, cursor.user, after, limit)
            entries += page.entries
            after, has_newer = page.up_to, page.has_newer
        return entries, after, has_newer

    async def _render(
        self, cursor: ExportCursor, entries: list[JsonObject], files: Sequence[Attachment], *, has_next: bool
    ) -> bytes:
        named = {str(each["sender"]) for each in entries}
        named.update(user for each in entries for user in each.get("users", ()))
        view = pages.ChatPageView(
            title=cursor.title,
            number=cursor.number,
            page=cursor.page,
            has_next=has_next,
            reader=cursor.user,
            entries=entries,
            names=await self._data.names(cursor.tenant, named),
            files={file.id: (file.type, media_name(file.id, file.name), file.name) for file in files},
        )
        return pages.chat_page(view)

    async def _inboxes(self, cursor: ExportCursor, new: StepParts) -> ExportCursor:
        """Write one page of notifications. Each inbox has two lists: present and archived notifications."""
        if cursor.below is None:
            lists = [
                (inbox, is_archived)
                for inbox in await self._data.inboxes(cursor.tenant)
                for is_archived in (False, True)
            ]
            later = sorted(each for each in lists if each > (cursor.inbox, cursor.is_archived))
            if not later:
                return replace(cursor, phase=ExportPhase.FINISH)
            cursor = replace(cursor, inbox=later[0][0], is_archived=later[0][1])
        page = await self._data.notifications(
            cursor.tenant, cursor.user, cursor.inbox, cursor.below, is_archived=cursor.is_archived
        )
        for each in page.notifications:
            new.add_line("inbox.jsonl", {"inbox": cursor.inbox, **each})
            new.add("inbox.html", pages.notification(cursor.inbox, each))
        counts: ExportCounts = cursor.counts
        count = counts.notifications + len(page.notifications)
        return replace(cursor, below=page.below, counts=replace(counts, notifications=count))
