"""Uploads: their states, and what the media worker found out about a file."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta, Struct

from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.schema.tables.items.media import MAX_NAME_BYTES, MAX_TYPE_BYTES, shard_of

PART_BYTES = 8 * 1024 * 1024
"""Size of the parts of a multipart upload; the last one may be smaller."""
SINGLE_BYTES = 16 * 1024 * 1024
"""Larger files are uploaded in parts."""
MAX_FILE_BYTES = 5 * 1024 * 1024 * 1024
MAX_PARTS = MAX_FILE_BYTES // PART_BYTES


class UploadState(StrEnum):
    """pending → uploaded → attached → deleting. Every state may become `deleting`; nothing leaves it."""

    PENDING = "pending"
    """The client may upload."""
    UPLOADED = "uploaded"
    """The object exists with the declared size."""
    ATTACHED = "attached"
    """A message refers to it."""
    DELETING = "deleting"
    """The objects are deleted, then the row."""


class CheckState(StrEnum):
    WAITING = "waiting"
    READY = "ready"
    REFUSED = "refused"
    """The file is not what it claims to be, or cannot be processed within the bounds. It cannot be downloaded."""


class MediaFacts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Facts about a file that the media worker found out.

    type: the type of the bytes, whatever the client declared. is_clean: the object `clean` replaces the original; it has
        no metadata. reason: why the file was refused. is_infected: it was also deleted.
    """

    type: str = "application/octet-stream"
    width: int | None = None
    height: int | None = None
    duration_ms: int | None = None
    blurhash: str | None = None
    has_thumbnail: bool = False
    is_clean: bool = False
    reason: str | None = None
    is_infected: bool = False


class Upload(Struct, frozen=True, kw_only=True):
    """A file in the bucket. `sequence` and `client_key` are those of the message that refers to it."""

    tenant: TenantId
    id: str
    owner: UserId
    chat: ChatId
    name: str
    type: str
    size: int
    sha256: str
    state: UploadState
    created_ms: int
    expires_ms: int | None = None
    multipart_id: str | None = None
    sequence: int | None = None
    client_key: ClientKey | None = None
    check: CheckState = CheckState.WAITING
    facts: MediaFacts = MediaFacts()

    @property
    def chat_key(self) -> ChatKey:
        return ChatKey(self.tenant, self.chat)

    @property
    def original(self) -> str:
        return object_key(self.tenant, self.id, "original")

    @property
    def clean(self) -> str:
        return object_key(self.tenant, self.id, "clean")

    @property
    def thumbnail(self) -> str:
        return object_key(self.tenant, self.id, "thumbnail")

    @property
    def main(self) -> str:
        """The object that is downloaded."""
        return self.clean if self.facts.is_clean else self.original

    @property
    def objects(self) -> tuple[str, ...]:
        """Every object that the upload may have."""
        return self.original, self.clean, self.thumbnail

    @property
    def expected(self) -> frozenset[str]:
        """The objects that the upload has in its present state. Others are leftovers of interrupted steps."""
        if self.state in (UploadState.PENDING, UploadState.DELETING) or self.facts.is_infected:
            return frozenset()
        return frozenset({self.main, self.thumbnail} if self.facts.has_thumbnail else {self.main})


def object_key(tenant: TenantId, upload: str, part: str) -> str:
    """Return the key of an object. Keys of a partition of the table have one prefix, and the same order as its rows."""
    return f"{shard_prefix(tenant, shard_of(upload))}{upload}/{part}"


def shard_prefix(tenant: TenantId, shard: int) -> str:
    return f"{tenant}/{shard:02d}/"


type FileName = Annotated[str, Meta(min_length=1, max_length=MAX_NAME_BYTES)]
type MediaType = Annotated[
    str, Meta(max_length=MAX_TYPE_BYTES, pattern=r"^[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+$")
]


class UploadRequest(NamedTuple):
    """`sha256`: of the whole file, in base64."""

    chat: ChatKey
    owner: UserId
    name: str
    type: str
    size: int
    sha256: str


class ImportedFile(NamedTuple):
    """A file of an imported message. `upload`: the id, which is the same at every import of the message."""

    upload: str
    chat: ChatKey
    owner: UserId
    client_key: ClientKey
    sequence: int
    path: Path
    name: str
    type: str
    size: int


class PartSum(NamedTuple):
    """A part of a multipart upload, and its SHA-256 in base64."""

    number: int
    sha256: str


class SignedRequest(NamedTuple):
    """A request that the client sends to the bucket, with exactly these headers."""

    url: str
    headers: dict[str, str]


class StartedUpload(NamedTuple):
    """`put` is None for a multipart upload."""

    upload: Upload
    put: SignedRequest | None


class UploadProgress(NamedTuple):
    """`received`: number and size of the parts that the bucket has, of a multipart upload that is not complete."""

    upload: Upload
    received: tuple[tuple[int, int], ...] = ()


class AttachmentLink(NamedTuple):
    """URLs of short life. `is_inline`: a browser may show the file; otherwise it saves it."""

    upload: Upload
    url: str
    thumbnail_url: str | None
    expires_ms: int
    is_inline: bool


class ScanResult(NamedTuple):
    """`infection`: the name of the malware. `is_too_large`: the scanner does not accept files of this size."""

    infection: str | None = None
    is_too_large: bool = False


class MediaTask(Struct, frozen=True, kw_only=True):
    """Work for the media worker: process a file, delete the objects and the row of an upload, or fetch a page.

    `upload` of a page is a hash of its `url`.
    """

    tenant: TenantId
    upload: str
    action: Literal["process", "delete", "preview"]
    url: str | None = None
