"""What stands in a log, and what wants to."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

import msgspec
from msgspec import Struct

from tidings.kernel.errors import Code, wrap_decoder
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId


class EntryKind(StrEnum):
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


STATUS_CHANGING_KINDS = frozenset(
    {EntryKind.CREATE, EntryKind.JOIN, EntryKind.LEAVE, EntryKind.ROLE, EntryKind.BLOCK}
)
"""After one of these, who may send is to be asked again."""


class IdempotencyKey(Struct, frozen=True, gc=False):
    """What makes two tries the same message, within a chat. Views hold hundreds: the collector need not walk them."""

    sender: UserId
    client_key: ClientKey


class Draft(Struct, frozen=True, kw_only=True, gc=False):
    """An entry that has no place yet. `body` is plain; it is sealed for the place that it gets."""

    kind: EntryKind
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
    def key(self) -> IdempotencyKey:
        return IdempotencyKey(self.sender, self.client_key)


class Entry(Struct, frozen=True, kw_only=True, gc=False, array_like=True):
    """One item of a log. `content` is as stored: sealed if the tenant encrypts, None if it was emptied.

    Goes over the line as an array: new fields come last, and never without a default.
    """

    sequence: int
    ordinal: int
    kind: EntryKind
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
    def key(self) -> IdempotencyKey:
        return IdempotencyKey(self.sender, self.client_key)


class KeyRecord(Struct, frozen=True, gc=False):
    """Where a message with this key stands, and what it said when it was sent."""

    sequence: int
    fingerprint: bytes


class PastKeySearch(NamedTuple):
    """What the log's entries up to `up_to` say about one proposal: where its key stands, if it stands there."""

    up_to: int
    seen: KeyRecord | None


NOTHING_READ: Final = PastKeySearch(0, None)


class Appended(NamedTuple):
    """The answer to a send, the first time and every time after."""

    sequence: int
    is_repeat: bool


@dataclass(frozen=True, slots=True)
class Refusal:
    """No, for good: no other try of this message gets in either."""

    code: Code


class ReactionChange(NamedTuple):
    """What one user's reaction, or its withdrawal, makes of a message's row."""

    user: UserId
    emoji: str
    is_added: bool
    counts: dict[str, int]
    users: tuple[str, ...]


class LogCreated(NamedTuple):
    """A log's first entry. Not new: `first` is what stood there; None if something beside it was in the way."""

    first: Entry | None
    is_new: bool


class Encrypter(Protocol):
    """Content at rest. The place is part of what is sealed: a body can't be moved."""

    def __call__(self, chat: ChatKey, sequence: int, body: bytes, /) -> bytes: ...


class PermissionCheck[S](Protocol):
    """Why somebody of this standing may not do it; None if he may.

    With `after`, a membership counts only if it began at or before it: whoever was out in between may have been told
    so by another try.
    """

    def __call__(self, standing: S, after: int | None, /) -> Code | None: ...


@dataclass(frozen=True, slots=True)
class Proposal[S]:
    """A draft, where its client stood when it first tried, and what is asked of the sender.

    `after` None: the client keeps no position, an idempotency row stands in for it.
    """

    draft: Draft
    may: PermissionCheck[S]
    after: int | None = None
    seal: Encrypter | None = None

    def sealed_for(self, chat: ChatKey, sequence: int) -> bytes | None:
        body = self.draft.body
        return body if body is None or self.seal is None else self.seal(chat, sequence, body)


class SideWrites(Protocol):
    """What is written with an entry, in one transaction. Only adapters know its shape; they make it and take it."""


type SideWritesFactory = Callable[[int], SideWrites]
"""Makes what goes beside an entry, once its sequence is known; asked again for another place."""


class CommittedEvent(Struct, frozen=True, array_like=True, gc=False):
    """Never empty, without holes. Content is sealed, as it is stored."""

    tenant: TenantId
    chat: ChatId
    entries: tuple[Entry, ...]
    epoch: int = 0

    @property
    def key(self) -> ChatKey:
        return ChatKey(self.tenant, self.chat)


_encoder = msgspec.msgpack.Encoder()
_decode = wrap_decoder(msgspec.msgpack.Decoder(CommittedEvent).decode, msgspec.DecodeError)


def encode_event(event: CommittedEvent) -> bytes:
    return _encoder.encode(event)


def decode_event(payload: bytes) -> CommittedEvent:
    """Raises `msgspec.DecodeError` for what is none."""
    return _decode(payload)


def partition_key(chat: ChatKey) -> bytes:
    return f"{chat.tenant}#{chat.chat}".encode()


NO_SUCH_CHAT = "There is no such chat."
"""The same words wherever it is said, so that they tell nothing."""


class Interval(NamedTuple):
    """A member sees `joined < sequence <= removed`. None: is still a member.

    The interval opens just below the entry that lets the user in and closes with the one that takes him out, so both
    of them reach him.
    """

    joined: int
    removed: int | None = None


def visible_ranges(intervals: Sequence[Interval], after: int, up_to: int) -> list[tuple[int, int]]:
    """The parts of `(after, up_to]` that lie in the intervals, as `(low, high]`, in order."""
    cut = ((max(after, i.joined), up_to if i.removed is None else min(up_to, i.removed)) for i in intervals)
    return [(low, high) for low, high in cut if low < high]


def may_see(intervals: Iterable[Interval], sequence: int) -> bool:
    for joined, removed in intervals:  # not any(…): asked of each member for each message of a page
        if joined < sequence and (removed is None or sequence <= removed):
            return True
    return False
