"""Write a tenant as import files: users, chats, members, messages and their files.

The directory of users leads to their chats, and the members of a chat to users who are not in the directory. Users
and chats that are not yet written are in the directory of the export, so memory depends on the largest chat only.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from tidings.accounts.ports import UserStore
from tidings.chats.model import Chat, Membership
from tidings.imports import export_lines as rules
from tidings.imports.model import VERSION, AttachmentPart, HeaderLine, ImportLine, UserLine, encode_line
from tidings.imports.ports import ExportDirectory, ExportState, ShownEntry
from tidings.imports.reader import MAX_LINE_BYTES
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.media.model import CheckState, Upload, UploadState
from tidings.media.ports import UploadStore
from tidings.messages.model import Entry, EntryKind
from tidings.messages.ports import LogReader, ReadReactions

SOURCE: Final = "tidings"
PAGE_ENTRIES: Final = 200
PAGE_USERS: Final = 100
ENTRIES_PER_S: Final = 4_000
"""The pace of reads. At 500 bytes for an entry, it takes 500 read units a second."""
_END: Final = 10**15 - 1


class ExportedChats(Protocol):
    """Chats and their members. Reads of a chat are strongly consistent."""

    async def chat(self, chat: ChatKey, /) -> Chat | None: ...

    async def members(self, chat: ChatKey, /) -> Sequence[Membership]: ...

    async def chats_of(
        self, tenant: TenantId, user: UserId, after: ChatId | None, limit: int, /
    ) -> Sequence[tuple[ChatId, Membership]]: ...


class ExportedTexts(Protocol):
    async def show(self, chat: ChatKey, entries: Sequence[Entry], /) -> Sequence[ShownEntry]:
        """Return entries with decrypted content, without a permission check."""
        ...


class ExportedObjects(Protocol):
    async def size_of(self, key: str, /) -> int | None: ...

    def read(self, key: str, /) -> AsyncIterator[bytes]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantExportDeps:
    """`uploads` and `objects` are None in an installation without attachments."""

    users: UserStore
    parts: int
    chats: ExportedChats
    log: LogReader
    texts: ExportedTexts
    reactions: ReadReactions
    uploads: UploadStore | None
    objects: ExportedObjects | None
    sanitize_name: Callable[[str], str]
    failpoints: Failpoints = NO_FAILPOINTS


def _ignore() -> None: ...


class TenantExporter:
    """Writes one tenant. After an error or a kill, run another one with the same directory and its last state."""

    def __init__(
        self,
        deps: TenantExportDeps,
        directory: ExportDirectory,
        state: ExportState,
        on_progress: Callable[[], None] = _ignore,
    ) -> None:
        self._deps = deps
        self._directory = directory
        self._on_progress = on_progress
        self.state = state

    async def run(self) -> ExportState:
        await self._list_users()
        while await self._list_chats() or await self._write_chat():
            self._on_progress()
        await self._write_users()
        return self.state

    async def _list_users(self) -> None:
        tenant = self.state.tenant
        while self.state.part < self._deps.parts:
            last: UserId | None = None
            while True:
                page = await self._deps.users.directory(tenant, self.state.part, below=last, limit=PAGE_USERS)
                self._directory.add_users(page.users)
                if not page.has_more or not page.users:
                    break
                last = page.users[-1]
            self.state.part += 1
            self._directory.save(self.state)

    async def _list_chats(self) -> bool:
        """List the chats of one user. False: those of all users are listed."""
        user = self._directory.next_user()
        if user is None:
            return False
        found: list[ChatId] = []
        after: ChatId | None = None
        while page := await self._deps.chats.chats_of(self.state.tenant, user, after, PAGE_USERS):
            found += [chat for chat, _ in page]
            after = page[-1][0]
        self._directory.add_chats(user, found)
        self._directory.save(self.state)
        return True

    async def _write_chat(self) -> bool:
        """Write one chat with its messages. False: all known chats are written."""
        chat_id = self._directory.next_chat()
        if chat_id is None:
            return False
        key = ChatKey(self.state.tenant, chat_id)
        newest = await self._deps.log.range(key, 0, _END, 1, newest_first=True)
        chat = await self._deps.chats.chat(key)
        # Read after the newest entry: every leave up to it is in the memberships, and later changes are cut off.
        head = newest[0].sequence if newest else 0
        members = rules.members_at(await self._deps.chats.members(key), head)
        self._directory.start_chat()
        if chat is None or not rules.can_be_imported(chat, members):
            self.state.leave_out("chats without members")
            self.state.offset = self._directory.finish_chat(chat_id, ())
        else:
            await self._write_log(chat, members, head)
            self.state.chats += 1
        await self._deps.failpoints.hit("tenant_export.chat_written")
        self._directory.save(self.state)
        await self._deps.failpoints.hit("tenant_export.chat_saved")
        return True

    async def _write_log(self, chat: Chat, members: Sequence[Membership], head: int) -> None:
        times = rules.ExportedTimes(members)
        is_message = bytearray(head + 1)
        created_ms, at = 0, 0
        while at < head and (
            page := await self._deps.log.range(chat.key, at, head, PAGE_ENTRIES, newest_first=False)
        ):
            created_ms = created_ms or page[0].created_at_ms
            for shown in await self._deps.texts.show(chat.key, page):
                at, at_ms = shown.entry.sequence, times.of(shown.entry)
                if shown.entry.kind is EntryKind.MESSAGE:
                    is_message[at] = 1
                    await self._write_message(chat, shown, at_ms, is_message)
            await self._deps.failpoints.hit("tenant_export.page_written")
            await asyncio.sleep(len(page) / ENTRIES_PER_S)
            self._on_progress()
        lines: list[ImportLine] = [rules.chat_line(chat, created_ms)]
        lines += rules.member_lines(chat, members, times)
        self._directory.add_users({rules.exported_user(chat.created_by)})
        self._directory.add_users(rules.exported_user(each.user) for each in members)
        self.state.offset = self._directory.finish_chat(chat.key.chat, lines)

    async def _write_message(self, chat: Chat, shown: ShownEntry, at_ms: int, is_message: bytearray) -> None:
        entry, content = shown.entry, shown.content
        reply_to = None if content is None else content.reply_to
        is_known = reply_to is not None and reply_to < entry.sequence and bool(is_message[reply_to])
        line = rules.message_line(
            chat,
            shown,
            at_ms,
            reply_to=reply_to if is_known else None,
            reactions=await self._reactions(chat.key, entry),
            files=[] if content is None else await self._files(chat.key.tenant, content.attachments),
        )
        if len(encode_line(line)) > MAX_LINE_BYTES:
            line = rules.without_reactions(line)
            self.state.leave_out("messages with more reactions than a line has room for")
        if entry.visible_until_ms is not None:
            self.state.leave_out("contents of messages that expire")
        self._directory.add_users(rules.users_of(line))
        self._directory.add_message(line)
        self.state.messages += 1

    async def _reactions(self, chat: ChatKey, entry: Entry) -> Sequence[tuple[UserId, str]]:
        """Return the reactions to a message, those that its row names first. Others are read if there are any."""
        named = [mark.split(" ", 1) for mark in entry.reaction_users]
        found = [(UserId(user), emoji) for emoji, user in named]
        if sum((entry.reaction_counts or {}).values()) > len(found):
            found += await self._deps.reactions(chat, entry.sequence)
        return found

    async def _files(self, tenant: TenantId, ids: Sequence[str]) -> list[AttachmentPart]:
        """Write the files of a message. One that members cannot download is left out."""
        if not ids:
            return []
        rows = {} if self._deps.uploads is None else await self._deps.uploads.find_many(tenant, ids)
        parts = [await self._file(rows.get(each)) for each in ids]
        return [part for part in parts if part is not None]

    async def _file(self, upload: Upload | None) -> AttachmentPart | None:
        objects = self._deps.objects
        is_there = (
            upload is not None
            and upload.state is UploadState.ATTACHED
            and upload.check is not CheckState.REFUSED
        )
        if upload is None or objects is None or not is_there or not await objects.size_of(upload.main):
            self.state.leave_out("files that cannot be downloaded")
            return None
        name = self._deps.sanitize_name(upload.name)
        path = await self._directory.add_file(upload.id, name, objects.read(upload.main))
        self.state.files += 1
        return AttachmentPart(path=path, name=name, type=upload.type)

    async def _write_users(self) -> None:
        self._directory.write_users([HeaderLine(version=VERSION, source=SOURCE)], is_first=True)
        after = ""
        while page := self._directory.users(after, PAGE_USERS):
            known = await self._deps.users.read_many(self.state.tenant, page)
            lines = []
            for user in page:
                row = known.get(user)
                lines.append(
                    UserLine(id=user)
                    if row is None
                    else UserLine(id=user, name=row.display_name, email=row.email, avatar=row.avatar_uri)
                )
            self._directory.write_users(lines, is_first=False)
            after = page[-1]
