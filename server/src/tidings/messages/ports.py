"""Ports of the message log: append, reads, edits, and the keys that encrypt content."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple, Protocol

from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey, ClientKey, Epoch, ErasedUser, TenantId, UserId
from tidings.messages.model import (
    NO_RULES,
    ArchivedMessage,
    ChatRules,
    Draft,
    Entry,
    FlaggedContent,
    IdempotencyKey,
    Interval,
    KeyRecord,
    ReactionChange,
    Refusal,
    Rejection,
    ReviewRequest,
    SideWrites,
)


class AppendStatus(Enum):
    COMMITTED = auto()
    """All entries and side writes were committed."""
    ROW_CONFLICT = auto()
    """Nothing was written: a row of the side writes has changed since it was read."""


@dataclass(frozen=True, slots=True)
class PositionTaken:
    """Nothing was written: one of the sequences is taken. `entry` is the entry at the first of them, if known."""

    entry: Entry | None


@dataclass(frozen=True, slots=True)
class DuplicateKey:
    """Nothing was written: this idempotency key already has a result."""

    found: KeyRecord | Refusal


type AppendOutcome = AppendStatus | PositionTaken | DuplicateKey

COMMITTED = AppendStatus.COMMITTED


class LogTail(NamedTuple):
    """`has_more`: the read ended before the head."""

    entries: Sequence[Entry]
    has_more: bool


class MessageLog(Protocol):
    """The log of every chat, for writers. Reads are strongly consistent."""

    async def newest(self, chat: ChatKey) -> Entry | None:
        """Return the entry at the head, or None if the chat does not exist."""
        ...

    async def follow(self, chat: ChatKey, after: int) -> LogTail:
        """Return entries above `after`, in order and dense, as many as one read returns."""
        ...

    async def keys(self, chat: ChatKey, after: int, up_to: int) -> Sequence[tuple[IdempotencyKey, KeyRecord]]:
        """Return the keys of all entries in `(after, up_to]`."""
        ...

    async def refuse_key(self, chat: ChatKey, draft: Draft, code: Code) -> KeyRecord | Refusal | None:
        """Store a refusal in the key's idempotency row. If the row already has a result, return that instead."""
        ...

    async def find_key(self, chat: ChatKey, key: IdempotencyKey) -> KeyRecord | Refusal | None:
        """Return the result that the key's idempotency row has; None if it has none."""
        ...

    async def append(
        self,
        chat: ChatKey,
        entries: Sequence[Entry],
        side_writes: SideWrites | None = None,
        *,
        is_keyed: bool = False,
    ) -> AppendOutcome:
        """Write the entries at their sequences, the side writes and (`is_keyed`) the idempotency row, atomically.

        An unanswered attempt is repeated with the same bytes at the same sequences until its outcome is known.
        Raises `outcome_unknown` if that takes too long, `overloaded` if nothing was applied.
        """
        ...


class LogReader(Protocol):
    """The log of every chat, for readers. Strongly consistent: a read that starts after a commit returns it."""

    async def range(
        self, chat: ChatKey, after: int, up_to: int, limit: int, *, newest_first: bool
    ) -> Sequence[Entry]:
        """Return at most `limit` entries of `(after, up_to]`, dense, from either end."""
        ...

    async def between(self, chat: ChatKey, after: int, up_to: int) -> Sequence[Entry]:
        """Return entries of `(after, up_to]`, in order and dense: one read, at least one entry if there is one."""
        ...

    async def one(self, chat: ChatKey, sequence: int) -> Entry | None: ...

    async def ephemeral(self, chat: ChatKey, after: int, up_to: int) -> Mapping[int, bytes]:
        """Return the encrypted content of ephemeral messages in `(after, up_to]` that is not deleted yet."""
        ...


type ReadReactions = Callable[[ChatKey, int], Awaitable[Sequence[tuple[UserId, str]]]]
"""Returns all reactions to a message: users and emoji, in no order. Strongly consistent."""


class ErasedEntries(NamedTuple):
    """The result of one page of a log: it was read up to `up_to`. A repetition returns the same counts.

    `entries` name the user, the last of them at `named_at`; `messages` and `reactions` are those that the user has sent.
    """

    up_to: int
    has_more: bool
    named_at: int
    read: int
    entries: int
    messages: int
    reactions: int


class LogEraser(Protocol):
    """Empties the entries of an erased user. The user must not be able to append any more."""

    async def erase(self, chat: ChatKey, erased: ErasedUser, after: int, /) -> ErasedEntries:
        """Process one page of the entries after `after`. Idempotent; not atomic."""
        ...

    async def delete_keys(self, chat: ChatKey, user: UserId, /) -> int:
        """Delete the user's idempotency keys of a chat. Idempotent."""
        ...


class SeenPolicy(NamedTuple):
    """The basis of a decision to expire messages: the chat's own limit, and the version of the tenant's settings."""

    days: int | None
    tenant_version: int


class LogExpiry(Protocol):
    async def empty(self, chat: ChatKey, messages: Sequence[Entry], seen: SeenPolicy, now_ms: int, /) -> bool:
        """Remove content and attachments of messages, and let their uploads be deleted; atomic, idempotent.

        False: the policy has changed, or a legal hold was set. Nothing was written.
        """
        ...

    async def archive(self, chat: ChatKey, messages: Sequence[ArchivedMessage], seen: SeenPolicy, /) -> bool:
        """Remove content that the archive has, and store where it is; atomic, idempotent.

        False: the policy has changed, a legal hold was set, or a message was changed. Nothing was written.
        """
        ...


class EditStore(Protocol):
    """Side writes that change a message. The transaction fails if the message has changed since it was read."""

    def ephemeral(self, chat: ChatKey, sequence: int, content: bytes, draft: Draft) -> SideWrites:
        """Put the content of an ephemeral message into an item of its own."""
        ...

    def paced(
        self, chat: ChatKey, user: UserId, side_writes: SideWrites | None, now_ms: int, /
    ) -> SideWrites:
        """Add to the writes of a message that its sender sent one now, for a chat with slow mode."""
        ...

    def flagged(
        self, chat: ChatKey, sequence: int, author: UserId, side_writes: SideWrites | None, now_ms: int, /
    ) -> SideWrites:
        """Add to the writes of a message or an edit that the message enters the review queue."""
        ...

    def attach(self, chat: ChatKey, sequence: int, draft: Draft, content: bytes | None) -> SideWrites:
        """Let the draft's uploads belong to the message, if they are complete and of its sender and chat.

        `content`: that of an ephemeral message, as in `ephemeral`.
        """
        ...

    def edit(self, chat: ChatKey, seen: Entry, content: bytes, now_ms: int) -> SideWrites: ...

    def redaction(self, chat: ChatKey, seen: Entry, now_ms: int) -> SideWrites:
        """Remove content, reactions and ephemeral content. Uploads that the message refers to will be deleted."""
        ...

    async def finish_redaction(self, chat: ChatKey, seen: Entry, redacted_at_ms: int, /) -> None:
        """Do the same for a message whose redaction was committed without it. Idempotent."""
        ...

    def reaction(self, chat: ChatKey, seen: Entry, reacted: ReactionChange, now_ms: int) -> SideWrites:
        """Put the user's reaction item if absent, or delete it if present, and set the message's counts."""
        ...

    async def has_reaction(self, chat: ChatKey, sequence: int, user: UserId, emoji: str) -> bool:
        """Return whether the user has reacted with this emoji. Strongly consistent."""
        ...


type ReadIntervals = Callable[[ChatKey, UserId], Awaitable[Sequence[Interval]]]
"""Reads a user's membership intervals, strongly consistent. Empty for a user who was never a member."""

type ReadMemberStatus[S] = Callable[[ChatKey, UserId], Awaitable[S]]
"""Reads a user's present status in a chat, strongly consistent. Never None: a stranger has a status too."""


type OnCommit = Callable[[ChatKey, Sequence[Entry]], None]
"""Called with entries after their commit, off the ack path. Must not wait or raise.

Not called for the last commits of a process that dies; the relay publishes those.
"""


class AppendDeps[S](NamedTuple):
    """Dependencies that all append queues of a process share."""

    log: MessageLog
    member_status: ReadMemberStatus[S]
    clock: Clock
    epoch: Epoch
    on_commit: OnCommit | None = None


class BeforeSend(Protocol):
    """Reviews content before it is committed, for tenants that moderate or enrich messages."""

    async def review(self, request: ReviewRequest, /) -> bytes | FlaggedContent | Rejection:
        """Return the body to commit, which may be changed, or why the message is refused. A flagged one enters the queue.

        Returns the given body at once for a tenant without a hook. Raises `overloaded` if the hook does not answer and
        the tenant refuses messages without an answer.
        """
        ...


class AttachmentCheck(Protocol):
    """Decides whether a message may refer to uploads, before it is appended. The append decides again."""

    async def check(
        self, chat: ChatKey, sender: UserId, client_key: ClientKey, uploads: Sequence[str], /
    ) -> Code | None:
        """Return None if the uploads may be attached or were attached to this message.

        Returns the code of a refusal if a retry could be of a message that was appended. Raises the error otherwise.
        """
        ...


class AuthorKey(Protocol):
    """The keys of one user, for what they write. Methods never block."""

    def fingerprint(self, data: bytes, /) -> bytes:
        """Return an HMAC that is equal for equal data and stays the same as long as the user exists."""
        ...

    def seal(self, chat: ChatKey, sequence: int, body: bytes, /) -> bytes:
        """Encrypt a body for one place. It cannot be decrypted at another place."""
        ...


class AuthorKeys(Protocol):
    """The keys of several users of a tenant, for what they wrote. Methods never block.

    They return None where the author's keys were destroyed. They raise `decryption_failed` if the content was not
    encrypted for this place with the author's keys.
    """

    def unseal(self, chat: ChatKey, sequence: int, author: UserId, content: bytes, /) -> bytes | None: ...

    def unseal_preview(
        self, chat: ChatKey, sequence: int, author: UserId, preview: bytes, /
    ) -> bytes | None: ...

    def seal_preview(
        self, chat: ChatKey, sequence: int, author: UserId, preview: bytes, /
    ) -> bytes | None: ...


class KeyProvider(Protocol):
    """Keys by user. Raises `keys_unavailable` if the keys cannot be loaded and are not cached."""

    async def of(self, tenant: TenantId, user: UserId, /) -> AuthorKey:
        """Return keys to encrypt with, cached after the first call. Creates them for a user without keys.

        Raises `user_erased` for a user whose keys were destroyed.
        """
        ...

    async def to_read(self, tenant: TenantId, contents: Collection[tuple[UserId, bytes]], /) -> AuthorKeys:
        """Return keys that decrypt these contents, each with its author, regardless of their age."""
        ...


@dataclass(slots=True)
class PastEnd:
    """The end of the earlier part of a log. `sequence` is 0 if no entry of it is left.

    `changes`: the entries of its last hour, oldest first, that change members, roles, restrictions, name or rules, or
    redact a message.
    `sent`: the last message of each sender in this hour.
    `ordinal`: that of the last entry. `lost`: the sequences of this hour whose entries are lost.
    `is_applied`: this process has compared the memberships of all users that these entries name.
    `are_rows_complete`: it has compared their rows of the chat list.
    """

    sequence: int
    ordinal: int = 0
    changes: Sequence[Entry] = ()
    sent: Mapping[UserId, Entry] = field(default_factory=dict)
    rules: ChatRules = NO_RULES
    lost: frozenset[int] = frozenset()
    is_applied: bool = False
    are_rows_complete: bool = False


class LostEntryWriter(Protocol):
    async def put_lost(self, chat: ChatKey, entries: Sequence[Entry]) -> None:
        """Put entries where the log has none. Idempotent."""


class PastLogReader(Protocol):
    """Reads the entries of a log that were written before the present epoch, as a restore or failover has left them."""

    epoch: Epoch

    async def end(self, chat: ChatKey) -> PastEnd:
        """Return the end of the earlier part. Puts an entry of the kind `lost` wherever it lacks one."""
