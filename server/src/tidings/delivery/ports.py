"""Ports of delivery: chat rows, watermarks, the offline queue and delivery checkpoints."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from tidings.chats.model import Chat, Membership
from tidings.connections.model import LookupResult
from tidings.delivery.model import (
    ChatFlags,
    ChatRow,
    LogPosition,
    OfflineCheck,
    OfflineMessage,
    OfflineQueueBatch,
    OfflineQueueKey,
    OfflineQueuePage,
    RowUpdate,
    WatermarkAdvanced,
    WatermarkUpdate,
)
from tidings.kernel.ids import ChatId, ChatKey, ErasedUser, TenantId, UserId
from tidings.messages.model import Entry


class ChatRowWriter(Protocol):
    """Chat rows and the heads of groups. Raises `overloaded` or `outcome_unknown` if the store does not answer.

    All writes are idempotent and may arrive in any order: a part that is not newer than the row's changes nothing.
    """

    async def raise_row(self, chat: ChatKey, user: UserId, first: int, update: RowUpdate) -> int:
        """Update a row for a run that starts at `first`. Return its previous sequence, or `first - 1`.

        A result below `first - 1` means that the row lacks entries before the run; nothing was changed. If the row is
        past the run, only newer parts are written.
        """
        ...

    async def raise_head(
        self, chat: ChatKey, first: int, update: RowUpdate, *, ends_quiet: bool = False
    ) -> int | None:
        """Update the head of a group, as `raise_row` does. A head at n thus proves that everything up to n is written.

        None: rows of members may be copies of this head, and nothing was changed. Raise the rows of all members to the
        end of the run, then call again with `ends_quiet`.
        """
        ...


class HeadCopier(Protocol):
    async def copy_head(self, chat: ChatKey, user: UserId, head: RowUpdate) -> bool:
        """Copy the position of a group's head into a member's row, so that readers of the row skip the head.

        Return False if the head or the row has moved since they were read: nothing is copied.
        """
        ...


class ChatRowReader(Protocol):
    """Reads of chat rows and heads. Strongly consistent."""

    async def rows(self, tenant: TenantId, user: UserId) -> Sequence[ChatRow]:
        """Return all rows of a user."""
        ...

    async def rows_in(
        self, tenant: TenantId, user: UserId, chats: Sequence[ChatId]
    ) -> Mapping[ChatId, ChatRow]:
        """Return a user's rows of these chats. Chats without a row are omitted."""
        ...

    async def row(self, chat: ChatKey, user: UserId) -> ChatRow | None: ...

    async def heads(self, tenant: TenantId, chats: Sequence[ChatId]) -> Mapping[ChatId, RowUpdate]:
        """Return the heads of these groups. Chats without a head are omitted."""
        ...


class ChatListReader(ChatRowReader, Protocol):
    async def heads_and_chats(
        self, tenant: TenantId, chats: Sequence[ChatId]
    ) -> tuple[Mapping[ChatId, RowUpdate], Mapping[ChatId, Chat]]:
        """Return the heads as `heads` does, and the groups, which are eventually consistent. One call for 50 groups."""
        ...


class WatermarkStore(Protocol):
    """Watermarks and flags of chat rows. A watermark only moves forward.

    The methods that raise a watermark return the row after the call, also if another device raised it further.
    """

    async def raise_read(self, chat: ChatKey, user: UserId, position: LogPosition) -> WatermarkUpdate: ...

    async def raise_delivered(
        self, chat: ChatKey, user: UserId, position: LogPosition
    ) -> WatermarkUpdate: ...

    async def rows_of(self, chat: ChatKey, users: Sequence[UserId]) -> Mapping[UserId, ChatRow]:
        """Return rows for display. Eventually consistent."""
        ...

    async def set_flags(self, chat: ChatKey, user: UserId, flags: ChatFlags) -> ChatRow: ...


class OfflineQueue(Protocol):
    """Messages for users without a route, kept for 30 days. A fast path: chat rows are the source of truth.

    A message has a fixed key in a queue, so `put` is idempotent and a message can be withdrawn. Raises `overloaded` or
    `outcome_unknown` if the store does not answer.
    """

    async def put(self, queued: Sequence[OfflineQueueBatch]) -> None: ...

    async def withdraw(self, chat: ChatKey, users: Sequence[UserId], message: Entry) -> None:
        """Delete a message from the queues of these users. Idempotent."""
        ...

    async def drain(
        self, tenant: TenantId, user: UserId, after: OfflineQueueKey | None = None, limit: int = 200
    ) -> OfflineQueuePage:
        """Return the next messages of a queue, oldest first, without expired ones. Strongly consistent."""
        ...

    async def delete(self, tenant: TenantId, user: UserId, keys: Sequence[OfflineQueueKey]) -> None:
        """Delete acknowledged messages. Idempotent."""
        ...


class DeliveryEraser(Protocol):
    """Removes an erased user from heads, chat rows and the offline queue. All methods are idempotent.

    `other` is the other user of a direct chat; None for a group.
    """

    async def delivered_up_to(self, chat: ChatKey, other: UserId | None, /) -> int:
        """Return the sequence up to which delivery has written the head, or the row of `other`. Strongly consistent."""
        ...

    async def replace(self, chat: ChatKey, other: UserId | None, erased: ErasedUser, /) -> None:
        """Replace the user in what readers are shown. Call it once the chat is delivered: delivery would write the id again."""
        ...

    async def withdraw(self, chat: ChatKey, other: UserId, user: UserId, /) -> int:
        """Delete the user's messages from the offline queue of `other`. The log has them, emptied."""
        ...

    async def delete_own(self, tenant: TenantId, user: UserId, /) -> int:
        """Delete the user's chat rows, blocks, invites and offline queue. Return the number of items."""
        ...


class PreviewExpiry(Protocol):
    async def expire(self, chat: ChatKey, users: Sequence[UserId], up_to: int, at_ms: int, /) -> None:
        """Delete previews of messages up to `up_to`, which expired at `at_ms`. Idempotent.

        `users`: both users of a direct chat, whose rows have previews; empty for a group, whose head has one.
        """
        ...


class DeliveryCheckpoints(Protocol):
    """The contiguous range of sequences that delivery has processed, by chat."""

    async def advance(self, chat: ChatKey, first: int, last: int) -> int:
        """Record that `first` to `last` are processed and return the checkpoint.

        A result below `last` means that entries between the checkpoint and `first` are not processed; nothing was
        changed. A chat without a checkpoint counts as processed below `first`. Raises `UnavailableError`.
        """
        ...

    async def read(self, chats: Sequence[ChatKey]) -> LookupResult[ChatKey, int]:
        """Return checkpoints. Chats without one are omitted; chats of a silent shard are `unknown`."""
        ...


class FollowedLog(Protocol):
    """How far a consumer of the topic `messages` has processed each chat, and the entries that Kafka lacks."""

    async def progress(self, chats: Mapping[ChatKey, Sequence[Entry]]) -> Mapping[ChatKey, int]:
        """Return the sequence up to which each chat is processed, given its next entries. 0: unknown."""
        ...

    async def fill_gaps(self, chat: ChatKey, done: int, entries: Sequence[Entry]) -> list[Entry]:
        """Return the entries with those between them, and after `done`, that Kafka lacks.

        Their publisher died, and the relay does not publish entries that delivery has read. Without progress, the
        entries of the last two minutes are read.
        """
        ...

    async def advance(self, chats: Mapping[ChatKey, Sequence[Entry]]) -> None:
        """Remember that these entries are processed. Without Redis, a later worker repeats the last two minutes."""
        ...


class AudienceSnapshot(NamedTuple):
    """Present and former members of a chat. From `large_since` on the chat is large, and `members` is empty."""

    members: Sequence[Membership]
    large_since: int | None = None


class AudienceReader(Protocol):
    async def of(self, chat: ChatKey, as_of: int) -> AudienceSnapshot:
        """Return an audience that includes every join and leave up to `as_of`. May be cached."""
        ...

    async def everyone(self, chat: ChatKey) -> Sequence[Membership]:
        """Return all members, also of a large chat: the cost grows with the members."""
        ...


type OnWatermarkAdvanced = Callable[[WatermarkAdvanced], None]
"""Called after the write of a watermark that has advanced. Does not wait or raise."""


type OnRead = Callable[[ChatKey, UserId, int], Awaitable[None]]
"""Called with a user's read position before their request is answered, also if it is repeated. May raise."""


class OfflineCheckPublisher(Protocol):
    """Requests checks whether users missed messages. `check` never waits and never raises; a failure is only counted."""

    def check(
        self,
        chat: ChatKey,
        users: Sequence[UserId],
        first: int,
        last: int,
        *,
        is_reconnecting: bool = False,
        is_mention: bool = False,
    ) -> None:
        """Check whether these users missed the messages `first` to `last`. `is_reconnecting`: give devices 30 seconds.

        `is_mention`: each message mentions the users, so that they are checked in a large chat too.
        """
        ...

    def check_late(self, check: OfflineCheck) -> None:
        """Check again after 30 seconds."""
        ...


type ReadRowsOf = Callable[[ChatKey, Sequence[UserId]], Awaitable[Mapping[UserId, ChatRow]]]
"""Reads the rows of several users of a chat, strongly consistent. Users without a row are omitted."""

type PublishOfflineMessage = Callable[[OfflineMessage], Awaitable[None]]
"""Publishes an event and returns after Kafka has stored it. Raises `overloaded` if that fails."""

type DeleteUploads = Callable[[TenantId, Sequence[str]], Awaitable[None]]
"""Lets the media worker delete these uploads. Idempotent."""

type ClearReactions = Callable[[ChatKey, int], Awaitable[None]]
"""Deletes all reactions to a redacted message. Idempotent; raises as `OfflineQueue` does."""

type PreviewText = Callable[[bytes], str]
"""Returns the text of a message body; empty if it has none."""
