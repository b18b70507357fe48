"""The lines of an import file. docs/reference/import-format.md describes them for users."""

import hashlib
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from tidings.chats.model import Role, direct_chat_key, group_chat_key
from tidings.kernel.errors import wrap_decoder
from tidings.kernel.ids import (
    USER_ID_CHARS,
    USER_ID_DESCRIPTION,
    ChatKey,
    ClientKey,
    TenantId,
    UserId,
    encode_ulid,
    is_user_id,
)
from tidings.media.model import FileName, MediaType
from tidings.schema.tables.limits import EMOJI, EMOJI_BYTES, MAX_ATTACHMENTS, PART_BYTES

VERSION: Final = 1
MAX_SHOWN: Final = 20
"""Problems that a report lists. All are counted."""
SOURCE: Final = r"^[a-z0-9][a-z0-9.-]{0,31}$"
MESSAGE_ID: Final = r'^[!"$-)+-.0-~]+$'
CHAT_ID_CHARS: Final = 256
PATH_CHARS: Final = 1_024
NAME_CHARS: Final = 64
IMPORT_OWNER: Final = UserId("/import")
"""The owner in the hash of an imported group's id. No user has this id: it has a `/`."""

type ForeignUser = Annotated[UserId, Meta(min_length=1, max_length=USER_ID_CHARS)]
type ForeignChat = Annotated[str, Meta(min_length=1, max_length=CHAT_ID_CHARS)]
type ForeignMessage = Annotated[
    str, Meta(min_length=1, max_length=PART_BYTES["client_key"], pattern=MESSAGE_ID)
]
type Time = Annotated[datetime, Meta(tz=True)]


class _Line(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="type"
):
    """A line. `type` is its first field."""


class HeaderLine(_Line, frozen=True, tag="import"):
    """The first line of a file. `source` separates the ids of two systems that are imported into one tenant."""

    version: int
    source: Annotated[str, Meta(pattern=SOURCE)]


class UserLine(_Line, frozen=True, tag="user"):
    id: ForeignUser
    name: str | None = None
    email: str | None = None
    avatar: str | None = None


class ChatLine(_Line, frozen=True, tag="chat"):
    """The start of a chat. The lines up to the next chat belong to it."""

    id: ForeignChat
    kind: Literal["group", "direct"]
    name: Annotated[str, Meta(min_length=1, max_length=NAME_CHARS)] | None = None
    created_at: Time | None = None
    created_by: ForeignUser | None = None


class MemberLine(_Line, frozen=True, tag="member"):
    """A membership. Without `joined_at` the user sees the chat from its start; without `left_at` they are a member."""

    chat: ForeignChat
    user: ForeignUser
    role: Role = Role.MEMBER
    joined_at: Time | None = None
    left_at: Time | None = None


class ReactionPart(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    emoji: Annotated[str, Meta(min_length=1, max_length=EMOJI_BYTES)]
    users: Annotated[tuple[ForeignUser, ...], Meta(min_length=1)]


class AttachmentPart(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A file of a message. `path` is relative to the folder of files."""

    path: Annotated[str, Meta(min_length=1, max_length=PATH_CHARS)]
    name: FileName | None = None
    type: MediaType | None = None


class MessageLine(_Line, frozen=True, tag="message"):
    """A message in its last state. `reply_to` is the id of an earlier message of the chat."""

    chat: ForeignChat
    id: ForeignMessage
    user: ForeignUser
    at: Time
    text: str = ""
    data: dict[str, Any] | None = None
    reply_to: str | None = None
    mentions: tuple[ForeignUser, ...] = ()
    edited_at: Time | None = None
    deleted_at: Time | None = None
    reactions: Annotated[tuple[ReactionPart, ...], Meta(max_length=EMOJI)] = ()
    attachments: Annotated[tuple[AttachmentPart, ...], Meta(max_length=MAX_ATTACHMENTS)] = ()


type ImportLine = HeaderLine | UserLine | ChatLine | MemberLine | MessageLine

_encoder = msgspec.json.Encoder()
_decode: Callable[[bytes], ImportLine] = wrap_decoder(
    msgspec.json.Decoder(ImportLine).decode, msgspec.DecodeError
)


def decode_line(line: bytes) -> ImportLine:
    """Decode a line. Raises `msgspec.DecodeError` with the reason."""
    return _decode(line)


def encode_line(line: ImportLine) -> bytes:
    return _encoder.encode(line) + b"\n"


def to_ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def check_user_id(user: str) -> str | None:
    """Return what is wrong with a user's id, or None."""
    return None if is_user_id(user) else f"`{user}` is not a user id. Allowed: {USER_ID_DESCRIPTION}."


def imported_chat_key(tenant: TenantId, source: str, chat: ChatLine, members: tuple[UserId, ...]) -> ChatKey:
    """Return the key of an imported chat: the same for every import of it."""
    if chat.kind == "direct":
        one, other = members
        return direct_chat_key(tenant, one, other)
    return group_chat_key(tenant, IMPORT_OWNER, ClientKey(f"{source}/{chat.id}"))


def imported_upload_id(chat: ChatKey, message: str, number: int, at_ms: int) -> str:
    """Return the id of a file: the same for every import of its message."""
    digest = hashlib.sha256(f"{chat.tenant}#{chat.chat}#{message}#{number}".encode()).digest()
    return encode_ulid(at_ms, int.from_bytes(digest[:10]))


class FoundFile(NamedTuple):
    """A file that a message names, on this machine."""

    path: Path
    name: str
    type: str
    size: int


class LinePlace(NamedTuple):
    """A line of a file, for messages to the user. Lines count from 1."""

    path: str
    number: int

    def __str__(self) -> str:
        return f"{self.path}:{self.number}"


class LineProblem(NamedTuple):
    place: LinePlace
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


class ImportCounts(Struct, kw_only=True):
    """The lines of import files by type; reactions and attachments."""

    users: int = 0
    chats: int = 0
    members: int = 0
    messages: int = 0
    reactions: int = 0
    attachments: int = 0


class ImportStats(Struct, kw_only=True):
    """The progress of an import. `chats_known` were imported before; `entries` and `attachments` were written by this run."""

    users: int = 0
    users_known: int = 0
    chats: int = 0
    chats_known: int = 0
    members: int = 0
    messages: int = 0
    entries: int = 0
    attachments: int = 0
    skipped: list[str] = msgspec.field(default_factory=list)
    skipped_count: int = 0

    def skip(self, reason: str) -> None:
        """Record something that was not imported. The first reasons are kept."""
        self.skipped_count += 1
        if len(self.skipped) < MAX_SHOWN:
            self.skipped.append(reason)
