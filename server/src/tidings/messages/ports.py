"""What the append asks of the world. Each method says what it guarantees."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.messages.model import (
    Draft,
    Entry,
    IdempotencyKey,
    Interval,
    KeyRecord,
    ReactionChange,
    Refusal,
    SideWrites,
)


@dataclass(frozen=True, slots=True)
class AppendCommitted:
    """All entries stand, in their places, with whatever was to be written with them."""


@dataclass(frozen=True, slots=True)
class PositionTaken:
    """Nothing was written: one of the places is taken. `entry` is what stands at the first of them, if known."""

    entry: Entry | None


@dataclass(frozen=True, slots=True)
class DuplicateKey:
    """Nothing was written: this key has its answer already."""

    found: KeyRecord | Refusal


@dataclass(frozen=True, slots=True)
class RowConflict:
    """Nothing was written: a row that was to change with the entry is not as it was read."""


type AppendOutcome = AppendCommitted | PositionTaken | DuplicateKey | RowConflict

COMMITTED = AppendCommitted()
ROW_REFUSED = RowConflict()


class LogTail(NamedTuple):
    """`has_more`: the read ended before the head."""

    entries: Sequence[Entry]
    has_more: bool


class Log(Protocol):
    """The log of every chat. Reads are strong: what was committed before the call is seen."""

    async def newest(self, chat: ChatKey) -> Entry | None:
        """The head, or None where there is no chat."""
        ...

    async def follow(self, chat: ChatKey, after: int) -> LogTail:
        """Entries above `after`, in order and without holes, as many as one read gives."""
        ...

    async def keys(self, chat: ChatKey, after: int, up_to: int) -> Sequence[tuple[IdempotencyKey, KeyRecord]]:
        """The keys of all entries in (after, up_to]."""
        ...

    async def refuse_key(self, chat: ChatKey, draft: Draft, code: Code) -> KeyRecord | Refusal | None:
        """Keep the refusal in the key's idempotency row, unless it has an answer: then that one is returned."""
        ...

    async def append(
        self,
        chat: ChatKey,
        entries: Sequence[Entry],
        side_writes: SideWrites | None = None,
        *,
        is_keyed: bool = False,
    ) -> AppendOutcome:
        """Atomic: all entries at their places, what goes beside, and (`is_keyed`) the one entry's idempotency row.

        A try that was not answered is repeated with the same bytes at the same places until it is settled.
        Raises `outcome_unknown` if that did not come about in time, `overloaded` if nothing was applied.
        """
        ...


class LogReader(Protocol):
    """The log for those who read it. Strong: a read that begins after a commit shows it."""

    async def range(
        self, chat: ChatKey, after: int, up_to: int, limit: int, *, newest_first: bool
    ) -> Sequence[Entry]:
        """At most `limit` entries of `(after, up_to]`, without holes, from the one end or the other."""
        ...

    async def one(self, chat: ChatKey, sequence: int) -> Entry | None: ...

    async def ephemeral(self, chat: ChatKey, after: int, up_to: int) -> Mapping[int, bytes]:
        """Contents, as sealed, of those ephemeral messages in `(after, up_to]` that still have one."""
        ...


class EditWriter(Protocol):
    """Makes what goes beside an entry that changes a message; it holds only if the message is as it was read."""

    def ephemeral(self, chat: ChatKey, sequence: int, content: bytes, draft: Draft) -> SideWrites:
        """The content of a message that expires, in an item of its own."""
        ...

    def edit(self, chat: ChatKey, seen: Entry, content: bytes, now_ms: int) -> SideWrites: ...

    def redaction(self, chat: ChatKey, seen: Entry, now_ms: int) -> SideWrites:
        """Nothing of it stays: content, reactions, ephemeral content."""
        ...

    def reaction(self, chat: ChatKey, seen: Entry, reacted: ReactionChange, now_ms: int) -> SideWrites:
        """The user's own item, put if absent or deleted if present, and the row's new counts."""
        ...


class ReactionWriter(Protocol):
    """One item for each user and emoji of a message, beside the log."""

    async def has(self, chat: ChatKey, sequence: int, user: UserId, emoji: str) -> bool:
        """Whether the user has reacted with this emoji; strong."""
        ...


class MembershipIntervals(Protocol):
    async def intervals(self, chat: ChatKey, user: UserId) -> Sequence[Interval]:
        """When the user was in the chat, as sequences; strong. Empty for a stranger."""
        ...


class MemberReader[S](Protocol):
    async def member_status(self, chat: ChatKey, user: UserId) -> S:
        """What the user is in this chat right now; strong. Never None: a stranger has a standing too."""
        ...


class TenantKeys(Protocol):
    """What a tenant's content is sealed and recognised with. Never blocks, never fails."""

    def fingerprint(self, said: bytes, /) -> bytes:
        """Recognises the same words again without showing them; the same for as long as the tenant exists."""
        ...

    def seal(self, chat: ChatKey, sequence: int, body: bytes, /) -> bytes:
        """The place is part of what is sealed: content that was moved does not open."""
        ...


class ReadingKeys(Protocol):
    """What certain contents are opened with. Never blocks."""

    def unseal(self, chat: ChatKey, sequence: int, content: bytes, /) -> bytes:
        """Raises `decryption_failed` if it was not sealed for this place by this tenant's keys."""
        ...


class Keys(Protocol):
    """Raises `keys_unavailable` while keys can't be had and none are at hand."""

    async def of(self, tenant: TenantId, /) -> TenantKeys:
        """To seal with; quick once they were asked for. Makes them for a tenant that has none."""
        ...

    async def to_read(self, tenant: TenantId, contents: Collection[bytes], /) -> ReadingKeys:
        """To open these contents with, whoever sealed them and however long ago."""
        ...
