"""An export: its cursor, and the values that it is made of."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, NewType

from msgspec import Struct

from tidings.kernel.ids import ChatId, TenantId, UserId

FORMAT_VERSION = 1
"""The layout of the archive and of the parts. A process does not continue an export of another version."""

ExportId = NewType("ExportId", str)

type JsonObject = Mapping[str, Any]


class ExportPhase(StrEnum):
    START = "start"
    """Profile, preferences and devices."""
    CHATS = "chats"
    INBOXES = "inboxes"
    FINISH = "finish"
    """The ends of the pages that grew with each step."""
    COLLECTED = "collected"
    """All parts are stored. The archive is a function of them and of the attachments."""


class ExportCounts(Struct, frozen=True, kw_only=True):
    chats: int = 0
    entries: int = 0
    notifications: int = 0
    attachments: int = 0


class ExportCursor(Struct, frozen=True, kw_only=True):
    """Where the next step starts. Stored after the parts of each step.

    step: the number of the next step, and of the parts that it stores.
    after_chat: the last chat that is complete. chat: the chat whose pages are being written; `number`, `title`, `page`,
        `after` and `chat_entries` are about it.
    inbox, is_archived, below: the list of notifications that is being read, and the cursor of its next page.
    """

    version: int = FORMAT_VERSION
    tenant: TenantId
    user: UserId
    started_ms: int
    finished_ms: int = 0
    step: int = 0
    phase: ExportPhase = ExportPhase.START
    counts: ExportCounts = ExportCounts()
    after_chat: ChatId | None = None
    chat: ChatId | None = None
    number: int = 0
    title: str = ""
    page: int = 0
    after: int = 0
    chat_entries: int = 0
    inbox: str = ""
    is_archived: bool = False
    below: str | None = None


class ExportState(StrEnum):
    RUNNING = "running"
    READY = "ready"
    """The archive is stored. It is deleted when the export expires."""
    FAILED = "failed"


class Export(Struct, frozen=True, kw_only=True):
    """An export that a job writes to the bucket. `id` is also the id of the job.

    turn: increases when a worker takes the export. A worker with an older turn stores nothing any more.
    cursor: where the next step starts; None before the first step, and after the last one.
    archive_bytes: the size of the archive. failure: the error code of an export that failed.
    """

    tenant: TenantId
    user: UserId
    id: ExportId
    requested_ms: int
    requested_by: str
    state: ExportState = ExportState.RUNNING
    turn: int = 0
    cursor: bytes | None = None
    counts: ExportCounts = ExportCounts()
    finished_ms: int | None = None
    archive_bytes: int | None = None
    failure: str | None = None


class ArchiveLink(NamedTuple):
    """A URL of short life that downloads the archive of an export."""

    url: str
    expires_ms: int


class ExportedChat(NamedTuple):
    """A chat as its user sees it. `fields` and `receipts` are as in the REST API."""

    title: str
    fields: JsonObject
    receipts: Sequence[JsonObject]


class EntriesPage(NamedTuple):
    """Entries that the user may read, oldest first, as in the REST API. It is complete up to `up_to`."""

    entries: Sequence[JsonObject]
    up_to: int
    has_newer: bool


class NotificationsPage(NamedTuple):
    """Notifications, newest first, as in the REST API. `below` is the cursor of the next page."""

    notifications: Sequence[JsonObject]
    below: str | None


class Attachment(NamedTuple):
    """A file that the user may download. `key`: its object in the bucket."""

    id: str
    name: str
    type: str
    key: str


class StoredPart(NamedTuple):
    """A part of a file of the archive, stored by one step. The file is all its parts in the order of the steps."""

    path: str
    step: int
    size: int
