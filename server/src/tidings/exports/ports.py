"""Ports of exports: the data of a user, the rows of exports, the store of parts, and the bucket."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from typing import Protocol

from tidings.exports.model import (
    Attachment,
    EntriesPage,
    Export,
    ExportedChat,
    JsonObject,
    NotificationsPage,
    StoredPart,
)
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId

type IsExportable = Callable[[TenantId, UserId], Awaitable[bool]]
"""Returns whether the tenant has this user, or a chat with them, and their erasure was not requested."""
type IsErased = Callable[[TenantId, UserId], Awaitable[bool]]


class UserData(Protocol):
    """Data that a user can read through the REST API at the time of the call, in the same JSON."""

    async def documents(self, tenant: TenantId, user: UserId, /) -> Mapping[str, JsonObject]:
        """Return profile, preferences, devices and blocks, by file name. Raises `user_not_found`."""
        ...

    async def chats(
        self, tenant: TenantId, user: UserId, after: ChatId | None, limit: int, /
    ) -> Sequence[ChatId]:
        """Return chats that the user is or was a member of, by id. Chats of the last seconds may be missing."""
        ...

    async def chat(self, chat: ChatKey, user: UserId, /) -> ExportedChat | None:
        """Return a chat; None if the user never was a member, such as a user that was banned before they joined."""
        ...

    async def entries(self, chat: ChatKey, user: UserId, after: int, limit: int, /) -> EntriesPage: ...

    async def names(self, tenant: TenantId, users: Collection[str], /) -> Mapping[str, str]:
        """Return the display names of users that have one."""
        ...

    async def attachments(
        self, chat: ChatKey, user: UserId, uploads: Collection[str], /
    ) -> Sequence[Attachment]:
        """Return those attachments of messages of the chat that the user may download now."""
        ...

    async def inboxes(self, tenant: TenantId, /) -> Sequence[str]: ...

    async def notifications(
        self, tenant: TenantId, user: UserId, inbox: str, below: str | None, /, *, is_archived: bool
    ) -> NotificationsPage: ...


class ExportStore(Protocol):
    """The last export of each user. Reads are strongly consistent."""

    async def create(self, export: Export, replaced: Export | None, /) -> Export:
        """Store a new export in place of `replaced`, the one that was read. Returns it, or that of another request. Atomic."""
        ...

    async def read(self, tenant: TenantId, user: UserId, /) -> Export | None: ...

    async def take(self, export: Export, /) -> Export | None:
        """Start the next turn of an export that runs; atomic. The turn starts at the cursor that was read.

        None: another worker has started a turn or stored a cursor since, or the export has ended.
        """
        ...

    async def save(self, export: Export, /) -> bool:
        """Store the progress of this turn; atomic. False: a later turn has started, or the export has ended."""
        ...

    async def delete(self, tenant: TenantId, user: UserId, /) -> None: ...


class ArchiveEraser(Protocol):
    async def delete_user(self, tenant: TenantId, user: UserId, /) -> int:
        """Delete the export of an erased user and all its objects, and return their number. Idempotent. Raises `overloaded`."""
        ...

    async def delete_tenant(self, tenant: TenantId, /) -> int:
        """Delete the objects of all exports of a deleted tenant, and return their number. Raises `overloaded`."""
        ...


class PartStore(Protocol):
    """The parts of one export, and its cursor. One process at a time uses it, or it refuses the cursor of the others.

    Each step stores a part.
    """

    async def read_cursor(self) -> bytes | None: ...

    async def put_cursor(self, cursor: bytes, /) -> None:
        """Replace the cursor; atomic."""
        ...

    async def put(self, path: str, step: int, body: bytes, /) -> None:
        """Store a part; atomic. Replaces one with the same path and step."""
        ...

    async def list(self) -> Sequence[StoredPart]:
        """Return all parts by path, then by step."""
        ...

    async def read(self, part: StoredPart, /) -> bytes: ...

    async def delete(self, part: StoredPart, /) -> None: ...


class AttachmentObjects(Protocol):
    """The bucket of attachments. Raises `UnavailableError`."""

    async def size_of(self, key: str) -> int | None: ...

    def read(self, key: str) -> AsyncIterator[bytes]: ...
