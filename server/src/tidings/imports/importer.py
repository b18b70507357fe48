"""Import validated files: users first, then several chats at a time."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from tidings.imports.chat_import import CHUNK_ENTRIES, ChatImport
from tidings.imports.model import (
    ChatLine,
    HeaderLine,
    ImportStats,
    LinePlace,
    MemberLine,
    MessageLine,
    UserLine,
    decode_line,
    imported_chat_key,
)
from tidings.imports.ports import ImportDeps
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.ids import TenantId

MAX_CHATS: Final = 16
"""Chats that are written at the same time."""
_USERS: Final = 200
_WAITING_BATCHES: Final = 4

type _Batches = asyncio.Queue[list[MessageLine] | None]


def _ignore() -> None: ...


class Importer:
    """Writes the lines of files. Idempotent: a repeat skips what is written. Call it with validated lines only.

    `on_wait` is called if another import into the tenant has not ended.

    The reader waits when a chat has messages that are not yet written, so memory does not depend on the files.
    """

    def __init__(
        self,
        deps: ImportDeps,
        tenant: TenantId,
        on_progress: Callable[[], None] = _ignore,
        on_wait: Callable[[], None] = _ignore,
    ) -> None:
        self._deps = deps
        self._tenant = tenant
        self._on_progress = on_progress
        self._on_wait = on_wait
        self.stats = ImportStats()
        self._source = ""
        self._users: list[UserLine] = []
        self._chat: ChatLine | None = None
        self._members: list[MemberLine] = []
        self._messages: list[MessageLine] = []
        self._batches: _Batches | None = None
        self._slots = asyncio.Semaphore(MAX_CHATS)

    async def run(self, lines: Iterable[tuple[LinePlace, bytes]]) -> ImportStats:
        """Import all lines. After an error or a cancellation, run it again with the same lines.

        Raises `still_running` if another process imports into the tenant.
        """
        await self._deps.turn.begin(self._on_wait)
        try:
            async with asyncio.TaskGroup() as tasks:
                for _, line in lines:
                    await self._add(line, tasks)
                await self._end_chat(tasks)
                await self._create_users()
        except* Exception as errors:  # noqa: BLE001 - raised again, without the group
            raise _first(errors) from None
        finally:
            await self._deps.turn.end()
        return self.stats

    async def _add(self, line: bytes, tasks: asyncio.TaskGroup) -> None:
        match decode_line(line):
            case MessageLine() as message:
                self._messages.append(message)
                if len(self._messages) >= CHUNK_ENTRIES:
                    await self._send_batch(tasks)
            case MemberLine() as member:
                self._members.append(member)
            case ChatLine() as chat:
                await self._end_chat(tasks)
                await self._create_users()
                self._chat = chat
            case UserLine() as user:
                self._users.append(user)
                if len(self._users) >= _USERS:
                    await self._create_users()
            case HeaderLine() as header:
                await self._end_chat(tasks)
                self._source = header.source

    async def _create_users(self) -> None:
        users, self._users = self._users, []
        for is_new in await gather_limited(self._deps.create_user(self._tenant, user) for user in users):
            self.stats.users += is_new
            self.stats.users_known += not is_new
        self._on_progress()

    async def _send_batch(self, tasks: asyncio.TaskGroup) -> None:
        """Give the messages read so far to the task of their chat. Waits while it is behind."""
        await self._deps.turn.keep()
        batches = self._batches or await self._start_chat(tasks)
        messages, self._messages = self._messages, []
        await batches.put(messages)
        self._on_progress()

    async def _start_chat(self, tasks: asyncio.TaskGroup) -> _Batches:
        if self._chat is None:
            raise ValueError("a message without a chat: the lines were not validated")
        await self._slots.acquire()
        users = tuple(dict.fromkeys(each.user for each in self._members))
        key = imported_chat_key(self._tenant, self._source, self._chat, users)
        chat = ChatImport(self._deps, self.stats, key, self._chat, self._members)
        self._batches = asyncio.Queue(_WAITING_BATCHES)
        tasks.create_task(self._write(chat, self._batches))
        return self._batches

    async def _end_chat(self, tasks: asyncio.TaskGroup) -> None:
        if self._chat is None:
            return
        await self._send_batch(tasks)
        if self._batches is not None:
            await self._batches.put(None)
        self._chat, self._members, self._batches = None, [], None

    async def _write(self, chat: ChatImport, batches: _Batches) -> None:
        try:
            while (messages := await batches.get()) is not None:
                await chat.add(messages)
            await chat.finish()
        except BaseException:
            await chat.abort()
            raise
        finally:
            self._slots.release()


def _first(errors: BaseExceptionGroup[Exception]) -> Exception:
    """Return the first error of a group of groups."""
    first = errors.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
