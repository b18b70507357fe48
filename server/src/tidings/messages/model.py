"""The entries of a chat's log, and the drafts that become entries."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from tidings.kernel.errors import Code, wrap_decoder
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId

UPLOAD_ID = r"^[0-9A-HJKMNP-TV-Z]{26}$"
"""The id of an upload: a ULID."""


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
    MUTE = "mute"
    BAN = "ban"
    RULES = "rules"
    LOST = "lost"
    """An entry that a failover has lost. Only its ordinal is known: whether it counted as unread."""


STATUS_CHANGING_KINDS = frozenset(
    {
        EntryKind.CREATE,
        EntryKind.JOIN,
        EntryKind.LEAVE,
        EntryKind.ROLE,
        EntryKind.BLOCK,
        EntryKind.MUTE,
        EntryKind.BAN,
    }
)
"""An entry of these kinds may change who may send, so cached member statuses are dropped after it."""


MODERATOR: Final = UserId("/moderator")
"""The sender of entries that carry out a decision of the tenant's moderators. No user has this id: it has a `/`."""


class IdempotencyKey(Struct, frozen=True, gc=False):
    """Identify a message within its chat: attempts with the same key are retries of one message."""

    sender: UserId
    client_key: ClientKey


class ChatRules(Struct, frozen=True, gc=False, array_like=True):
    """The restrictions that a chat's admins set. Every entry carries the rules that hold after it, so the log view has them.

    `unfrozen_at`: the sequence that ended the last freeze, 0 for none.
    """

    is_frozen: bool = False
    slow_mode_s: int = 0
    unfrozen_at: int = 0


NO_RULES: Final = ChatRules()


class Draft(Struct, frozen=True, kw_only=True, gc=False):
    """An entry without a sequence. `body` is plain text; it is encrypted once the sequence is known."""

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
    attachments: tuple[str, ...] = ()
    until_ms: int | None = None
    reason: str | None = None
    rules: ChatRules | None = None

    @property
    def key(self) -> IdempotencyKey:
        return IdempotencyKey(self.sender, self.client_key)


class Entry(Struct, frozen=True, kw_only=True, gc=False, array_like=True):
    """One item of a log. `content` is as stored: encrypted if the tenant encrypts, None if it was removed.

    Encoded as an array: append new fields at the end, with a default.
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
    attachments: tuple[str, ...] = ()
    until_ms: int | None = None
    reason: str | None = None
    rules: ChatRules | None = None
    archived_in: str | None = None
    """The part of the archive that has the content of this message."""
    archive_key: bytes | None = None
    """Decrypts the row of this message in the archive. Without it, the content is lost."""

    @property
    def key(self) -> IdempotencyKey:
        return IdempotencyKey(self.sender, self.client_key)


class KeyRecord(Struct, frozen=True, gc=False):
    """The sequence of the message with a key, and the fingerprint of the content that was sent."""

    sequence: int
    fingerprint: bytes


class PastKeySearch(NamedTuple):
    """The result of a search for one key in the entries up to `up_to`."""

    up_to: int
    seen: KeyRecord | None


NOTHING_READ: Final = PastKeySearch(0, None)


class Appended(NamedTuple):
    """The result of an append. Retries receive the same sequence."""

    sequence: int
    is_repeat: bool


@dataclass(frozen=True, slots=True)
class Refusal:
    """A final refusal: no other attempt of this message is appended either.

    With `retry_after_ms` it is not final: the same attempt is allowed after this time.
    """

    code: Code
    retry_after_ms: int | None = None


class ReviewRequest(NamedTuple):
    """Content of a message or an edit before its commit. `body` is encoded as `sender.encode_content` does."""

    chat: ChatKey
    sender: UserId
    client_key: ClientKey
    kind: EntryKind
    body: bytes


@dataclass(frozen=True, slots=True)
class Rejection:
    """The tenant's before-send hook refused the content. `reason` is for the sender."""

    reason: str


@dataclass(frozen=True, slots=True)
class FlaggedContent:
    """The body to commit of a message that moderators review afterwards."""

    body: bytes


class ReactionChange(NamedTuple):
    """A message's reaction counts and listed users after one user adds or removes a reaction."""

    user: UserId
    emoji: str
    is_added: bool
    counts: dict[str, int]
    users: tuple[str, ...]


def reaction_mark(emoji: str, user: UserId) -> str:
    """Return the element of `reaction_users` for a reaction of this user."""
    return f"{emoji} {user}"


class LogCreated(NamedTuple):
    """The result of creating a log.

    If `is_new` is False, `first` is the first entry that already existed; None if a side write was refused.
    """

    first: Entry | None
    is_new: bool


class ArchivedMessage(NamedTuple):
    """A message whose content `part` of the archive has, encrypted with `key`."""

    entry: Entry
    part: str
    key: bytes


class ExpiredRange(NamedTuple):
    """Expired messages of a chat that the search index may still have: `first` to `last`."""

    chat: ChatKey
    first: int
    last: int


type Encrypt = Callable[[ChatKey, int, bytes], bytes]
"""Encrypts a body for one chat and sequence. Decryption at another place fails."""

type PermissionCheck[S] = Callable[[S, int | None], Code | None]
"""Returns why a user of this member status may not act, or None if they may. The second argument is `after`.

A membership counts only if it began at or before `after`. A user who was not a member in between may have received a
refusal for another attempt, and that refusal is final.
"""


class RulesContext(NamedTuple):
    """The input of a check of the chat's rules, besides the sender's status. `now_ms` is the server's clock."""

    rules: ChatRules
    now_ms: int
    after: int | None


type RulesCheck[S] = Callable[[S, RulesContext], Refusal | None]
"""Returns why the chat's rules, or a mute of the user, refuse an action now; None if they allow it."""

type SideWritesExtension = Callable[[SideWrites | None, int], SideWrites]
"""Adds writes to those of an entry. The second argument is the time of the entry."""


@dataclass(frozen=True, slots=True)
class Proposal[S]:
    """A draft, the client's position at its first attempt, and the permission that the sender needs.

    `after` is None for a client without a position: an idempotency row then detects retries. `obeys` checks the chat's
    rules after `may`. `paced` is used in a chat with slow mode: it stores when the user last sent a message.
    """

    draft: Draft
    may: PermissionCheck[S]
    after: int | None = None
    encrypt: Encrypt | None = None
    obeys: RulesCheck[S] | None = None
    paced: SideWritesExtension | None = None

    def encrypted_body(self, chat: ChatKey, sequence: int) -> bytes | None:
        body = self.draft.body
        return body if body is None or self.encrypt is None else self.encrypt(chat, sequence, body)


type SideWrites = object
"""Writes that commit in the same transaction as an entry. Only the stores know the type: they create and use it."""

type SideWritesFactory = Callable[[int], SideWrites]
"""Creates the side writes of an entry for its sequence. Called again if the entry moves to another sequence."""


class CommittedEvent(Struct, frozen=True, array_like=True, gc=False):
    """Committed entries of one chat: at least one, with consecutive sequences and content as stored."""

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
    """Decode an event. Raises `msgspec.DecodeError` for any other payload."""
    return _decode(payload)


def partition_key(chat: ChatKey) -> bytes:
    return f"{chat.tenant}#{chat.chat}".encode()


NO_SUCH_CHAT = "There is no such chat."
"""The same text everywhere, so that a stranger cannot find out whether a chat exists."""


class Interval(NamedTuple):
    """A member sees `joined < sequence <= removed`. `removed` is None while the user is a member.

    `joined` is the sequence before the join and `removed` that of the leave, so the user receives both entries.
    """

    joined: int
    removed: int | None = None


def visible_ranges(intervals: Sequence[Interval], after: int, up_to: int) -> list[tuple[int, int]]:
    """Return the parts of `(after, up_to]` inside the intervals, as `(low, high]`, in order."""
    cut = ((max(after, i.joined), up_to if i.removed is None else min(up_to, i.removed)) for i in intervals)
    return [(low, high) for low, high in cut if low < high]


def may_see(intervals: Iterable[Interval], sequence: int) -> bool:
    for joined, removed in intervals:  # A loop is faster than any(): this runs for each member and message.
        if joined < sequence and (removed is None or sequence <= removed):
            return True
    return False
