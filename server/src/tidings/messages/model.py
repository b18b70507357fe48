"""What stands in a log, and what wants to."""

from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from tidings.kernel.ids import ClientKey, UserId


class Kind(StrEnum):
    CREATE = "create"
    MESSAGE = "message"
    EDIT = "edit"
    REDACTION = "redaction"
    REACTION = "reaction"
    JOIN = "join"
    LEAVE = "leave"
    ROLE = "role"
    RENAME = "rename"
    BLOCK = "block"


CHANGES_STANDING = frozenset({Kind.CREATE, Kind.JOIN, Kind.LEAVE, Kind.ROLE, Kind.BLOCK})
"""After one of these, who may send is to be asked again."""


class SendKey(NamedTuple):
    """What makes two tries the same message, within a chat."""

    sender: UserId
    client_key: ClientKey


class Draft(Struct, frozen=True, kw_only=True, gc=False):
    """An entry that has no place yet. `body` is plain; it is sealed for the place that it gets."""

    kind: Kind
    sender: UserId
    client_key: ClientKey
    fingerprint: bytes
    body: bytes | None = None
    content_type: str | None = None
    visible_until_ms: int | None = None
    refers_to: int | None = None
    emoji: str | None = None
    name: str | None = None
    role: str | None = None
    users: tuple[UserId, ...] = ()
    member_count: int | None = None

    @property
    def key(self) -> SendKey:
        return SendKey(self.sender, self.client_key)


class Entry(Struct, frozen=True, kw_only=True, gc=False):
    """One item of a log. `content` is as stored: sealed if the tenant encrypts, None if it was emptied."""

    sequence: int
    ordinal: int
    kind: Kind
    sender: UserId
    client_key: ClientKey
    fingerprint: bytes
    created_at_ms: int
    epoch: int = 0
    content: bytes | None = None
    content_type: str | None = None
    edited_at_ms: int | None = None
    redacted_at_ms: int | None = None
    visible_until_ms: int | None = None
    refers_to: int | None = None
    emoji: str | None = None
    name: str | None = None
    role: str | None = None
    users: tuple[UserId, ...] = ()
    member_count: int | None = None
    large: bool = False
    reaction_counts: dict[str, int] | None = None
    reaction_users: tuple[str, ...] = ()

    @property
    def key(self) -> SendKey:
        return SendKey(self.sender, self.client_key)


class Seen(NamedTuple):
    """Where a message with this key stands, and what it said when it was sent."""

    sequence: int
    fingerprint: bytes


class Appended(NamedTuple):
    """The answer to a send, the first time and every time after."""

    sequence: int
    is_repeat: bool
