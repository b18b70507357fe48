"""Parts of the archive: a Parquet file with messages of one month of a tenant, and the manifest that describes it."""

from dataclasses import dataclass, fields
from typing import NamedTuple

from msgspec import Struct

from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.messages.model import Entry


class ArchivedRow(NamedTuple):
    """A row of a part. `content` is encrypted once more with a key of its own, which only the entry of the log has."""

    chat: ChatId
    sequence: int
    created_at_ms: int
    content: bytes


class ArchivedRange(Struct, frozen=True, kw_only=True):
    """The messages of one chat in a part: `rows` of them, between `first` and `last`."""

    chat: ChatId
    first: int
    last: int
    rows: int


class ArchiveManifest(Struct, frozen=True, kw_only=True):
    """Stored after the part that it describes. `month`: YYYY-MM; `part`: a ULID, so parts are in order of their time."""

    tenant: TenantId
    month: str
    part: str
    rows: int
    bytes: int
    sha256: str
    chats: tuple[ArchivedRange, ...]


class SealedMessage(NamedTuple):
    """A message whose content a part is to have, or has. `key` decrypts `content`."""

    chat: ChatKey
    entry: Entry
    content: bytes
    key: bytes


class ArchiveProblem(NamedTuple):
    """A part that does not match its manifest."""

    manifest: ArchiveManifest
    found: str


@dataclass(slots=True)
class ArchiveTotals:
    parts: int = 0
    rows: int = 0
    bytes: int = 0


@dataclass(slots=True)
class ArchiveStats:
    """What sweeps have done. `chats`: those whose position was compared; `failed`: those left to the next sweep."""

    chats: int = 0
    due: int = 0
    archived: int = 0
    parts: int = 0
    failed: int = 0

    def add(self, other: "ArchiveStats") -> None:
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


class ArchiveDamagedError(Exception):
    """A part does not match its manifest."""
