"""Ports of an import: the rules of other subjects, and the writes."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from msgspec import Struct

from tidings.chats.model import Chat, ImportState, ImportTotals, Membership
from tidings.delivery.model import LastMessageRef
from tidings.delivery.ports import ChatRowWriter, WatermarkStore
from tidings.imports.model import AttachmentPart, FoundFile, ImportLine, MessageLine, UserLine
from tidings.imports.turn import ImportTurn
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.kernel.ids import ChatId, ChatKey, Epoch, TenantId, UserId
from tidings.media.model import ImportedFile
from tidings.messages.model import Entry, EntryKind, IdempotencyKey
from tidings.messages.ports import KeyProvider


class LineChecks(Protocol):
    """The rules of other subjects for users and messages. Methods raise `TidingsError`."""

    def check_user(self, user: UserLine, /) -> None: ...

    def find_file(self, part: AttachmentPart, /) -> FoundFile:
        """Return the file of an attachment, if it may be stored."""
        ...

    def encode_message(
        self, message: MessageLine, reply_to: int | None, files: Mapping[str, FoundFile], /
    ) -> bytes:
        """Return the content of a message, as a send encodes it. `files`: its attachments by the ids of their uploads."""
        ...


type FingerprintInput = Callable[[ChatKey, IdempotencyKey, EntryKind, bytes], bytes]
"""Returns the bytes of a message's fingerprint, as a send does."""

type CreateUser = Callable[[TenantId, UserLine], Awaitable[bool]]
"""Creates a user. Returns False for a user who exists; they are not changed."""

type StoreFile = Callable[[ImportedFile], Awaitable[bool]]
"""Stores a file and attaches it to a message that is written next. Returns False for one that was stored before."""

type MakePreview = Callable[[ChatKey, Entry], Awaitable[LastMessageRef]]
"""Returns a message as chat rows show it."""

type ReadBlockers = Callable[[TenantId, Collection[UserId], UserId], Awaitable[set[UserId]]]
"""Returns the users of a collection who block a user."""


class ImportLog(Protocol):
    """The logs of chats that are imported. No other process writes them."""

    async def newest(self, chat: ChatKey) -> Entry | None: ...

    async def write(
        self, chat: ChatKey, entries: Sequence[Entry], reactions: Iterable[tuple[int, UserId, str, int]]
    ) -> None:
        """Write entries and reactions: sequence, user, emoji and time. Idempotent, in no order, and not atomic."""
        ...


class ImportChats(Protocol):
    """Rows of chats that are imported. Every method is idempotent."""

    async def claim(self, chat: Chat, created_at_ms: int) -> ImportState:
        """Put the row of a chat that does not exist. Return how far its import is."""
        ...

    async def open(self, chat: ChatKey, totals: ImportTotals) -> None:
        """Store the size of a chat whose log is complete. Members may be added then."""
        ...

    async def add_member(self, chat: ChatKey, member: Membership, joined_at_ms: int) -> None:
        """Let a present or former member read the chat. A row that exists is not changed."""
        ...

    async def finish(self, chat: ChatKey, entries: int) -> None: ...


class ExportState(Struct, kw_only=True):
    """How far the export of a tenant is. `part`: the next part of the directory of users. `offset`: the end of the last chat.

    `left_out`: what the format cannot carry, by reason.
    """

    tenant: TenantId
    part: int = 0
    offset: int = 0
    chats: int = 0
    messages: int = 0
    files: int = 0
    left_out: dict[str, int] = {}

    def leave_out(self, reason: str) -> None:
        self.left_out[reason] = self.left_out.get(reason, 0) + 1


class ExportDirectory(Protocol):
    """The directory that an export of a tenant writes. One process at a time uses it.

    `save` stores the state, and all users and chats that were added before it; atomic. A process that continues finds
    them as of the last `save`, and the file of chats up to `offset`.
    """

    def save(self, state: ExportState, /) -> None: ...

    def add_users(self, users: Iterable[UserId], /) -> None:
        """Add users whose chats are not listed yet. A user who is known is not changed."""
        ...

    def add_chats(self, of: UserId, chats: Iterable[ChatId], /) -> None:
        """Add all chats of a user. A chat that is known is not changed."""
        ...

    def next_user(self) -> UserId | None:
        """Return a user whose chats are not listed yet."""
        ...

    def next_chat(self) -> ChatId | None:
        """Return a chat that is not written yet."""
        ...

    def users(self, after: str, limit: int, /) -> Sequence[UserId]:
        """Return users by id."""
        ...

    def start_chat(self) -> None:
        """Begin the messages of a chat. Those of a chat that was not finished are dropped."""
        ...

    def add_message(self, line: MessageLine, /) -> None: ...

    def finish_chat(self, chat: ChatId, lines: Iterable[ImportLine], /) -> int:
        """Append the lines of a chat and then its messages. Returns the end of the file, which is on the disk."""
        ...

    async def add_file(self, upload: str, name: str, chunks: AsyncIterator[bytes], /) -> str:
        """Write a file, and return its path in the directory."""
        ...

    def write_users(self, lines: Iterable[ImportLine], /, *, is_first: bool) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportDeps:
    turn: ImportTurn
    create_user: CreateUser
    log: ImportLog
    chats: ImportChats
    rows: ChatRowWriter
    watermarks: WatermarkStore
    keys: KeyProvider
    checks: LineChecks
    fingerprint_input: FingerprintInput
    store_file: StoreFile
    preview: MakePreview
    blockers: ReadBlockers
    epoch: Epoch
    failpoints: Failpoints = NO_FAILPOINTS


class ShownContent(Protocol):
    """The decrypted content of a message."""

    @property
    def text(self) -> str: ...
    @property
    def data(self) -> dict[str, Any] | None: ...
    @property
    def reply_to(self) -> int | None: ...
    @property
    def mentions(self) -> tuple[UserId, ...]: ...
    @property
    def attachments(self) -> tuple[str, ...]: ...


class ShownEntry(Protocol):
    """An entry with its content, if readers can see it."""

    @property
    def entry(self) -> Entry: ...
    @property
    def content(self) -> ShownContent | None: ...
