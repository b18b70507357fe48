"""What the worker, rows, watermarks and the chat list ask of the world. Each method says what it guarantees."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from tidings.chats.model import Chat, Membership
from tidings.connections.model import GatewayId, LookupResult, Route
from tidings.delivery.model import (
    ChatFlags,
    ChatRow,
    LogPosition,
    OfflineQueueBatch,
    OfflineQueueKey,
    OfflineQueuePage,
    RowUpdate,
    WatermarkAdvanced,
    WatermarkUpdate,
)
from tidings.kernel.ids import ChatId, ChatKey, DeviceKey, TenantId, UserId
from tidings.messages.model import Entry


class ChatRowWriter(Protocol):
    """Chat-list rows and the heads of large chats. Raises `overloaded` or `outcome_unknown` while it can't be written.

    Both may be repeated at will: a part of the news that a row has already, or has newer, changes nothing.
    """

    async def raise_row(self, chat: ChatKey, user: UserId, update: RowUpdate) -> int:
        """The sequence that the row had come to before; 0 where there was none. One write if the news are news."""
        ...

    async def repair_row(self, chat: ChatKey, user: UserId, update: RowUpdate) -> None:
        """For news without a head: what changed in a message that the row may still show."""
        ...

    async def raise_head(self, chat: ChatKey, update: RowUpdate) -> int:
        """The head of a large chat, for all its members at once. Answers as `raise_row`."""
        ...


class ChatRowReader(Protocol):
    async def rows(self, tenant: TenantId, user: UserId) -> Sequence[ChatRow]:
        """All rows of a user. Strong."""
        ...

    async def row(self, chat: ChatKey, user: UserId) -> ChatRow | None:
        """Return the user's row of one chat. Strong."""
        ...

    async def heads(self, tenant: TenantId, chats: Sequence[ChatId]) -> Mapping[ChatId, RowUpdate]:
        """The heads of these large chats, as far as there are any. Strong."""
        ...


class WatermarkStore(Protocol):
    """Each only goes forward. Answers the row as it is after the call, whoever raised it that far."""

    async def raise_read(self, chat: ChatKey, user: UserId, position: LogPosition) -> WatermarkUpdate: ...

    async def raise_delivered(
        self, chat: ChatKey, user: UserId, position: LogPosition
    ) -> WatermarkUpdate: ...

    async def rows_of(self, chat: ChatKey, users: Sequence[UserId]) -> Mapping[UserId, ChatRow]:
        """For people to look at: may be a moment behind."""
        ...


type OnWatermarkAdvanced = Callable[[WatermarkAdvanced], None]
"""Told after the write, of what has really risen. Does not wait and never raises."""


class OfflineQueue(Protocol):
    """Messages for users who have no route: a quick drain of the recent past, kept for thirty days. Never the truth.

    A message has one place in a queue, so a repeated `put` changes nothing, and who knows the message can withdraw it.
    Raises `overloaded` or `outcome_unknown` while the store can't be read or written.
    """

    async def put(self, queued: Sequence[OfflineQueueBatch]) -> None: ...

    async def withdraw(self, chat: ChatKey, users: Sequence[UserId], message: Entry) -> None:
        """Takes a message out of these users' queues, where it stands in them."""
        ...

    async def drain(
        self, tenant: TenantId, user: UserId, after: OfflineQueueKey | None = None, limit: int = 200
    ) -> OfflineQueuePage:
        """The next of a user's queue, oldest first. Strong. What has expired meanwhile is left out."""
        ...

    async def delete(self, tenant: TenantId, user: UserId, keys: Sequence[OfflineQueueKey]) -> None:
        """Of what was acked. A key that is not there is no fault."""
        ...


class ReactionReader(Protocol):
    async def clear(self, chat: ChatKey, sequence: int) -> None:
        """Delete all reactions to a redacted message. Idempotent; raises as `OfflineQueue` does."""
        ...


class RouteLookup(Protocol):
    """Where devices are connected. Calls about one key raise `RegistryUnavailableError` while its shard does not answer."""

    async def look_up(
        self, tenant: TenantId, users: Sequence[UserId]
    ) -> LookupResult[UserId, Sequence[Route]]:
        """Look up routes. Users without a route are left out; those of a shard that does not answer are unknown."""
        ...

    async def remove(self, device: DeviceKey, gateway: GatewayId, epoch: int) -> bool:
        """Compare and delete: only this very route."""
        ...


class BusPublisher(Protocol):
    """To the gateways. Who does not listen does not get it."""

    async def publish_to_gateway(self, gateway: GatewayId, payload: bytes) -> bool:
        """False: nobody listens, so the gateway is gone."""
        ...

    async def publish_to_chat(self, chat: ChatKey, payload: bytes) -> int: ...


class DeliveryCheckpoints(Protocol):
    """Up to where chats were handled, without holes."""

    async def advance(self, chat: ChatKey, first: int, last: int) -> int:
        """Where the mark is now. Below `last`: what lies between it and `first` was not handled, nothing changed."""
        ...

    async def read(self, chats: Sequence[ChatKey]) -> LookupResult[ChatKey, int]:
        """Look up marks. Chats without one are left out; those of a shard that does not answer are unknown."""
        ...


class OfflineNotifier(Protocol):
    """Told of messages of one chat for a user none of whose devices can be reached."""

    async def notify_offline(self, chat: ChatKey, user: UserId, messages: Sequence[Entry]) -> None: ...


class FlagStore(Protocol):
    async def set_flags(self, chat: ChatKey, user: UserId, flags: ChatFlags) -> ChatRow: ...


class AudienceSnapshot(NamedTuple):
    """Who was ever in a chat. `large_since`: the entry with which it became large; its members are then not listed."""

    members: Sequence[Membership]
    large_since: int | None = None


class AudienceReader(Protocol):
    """May be kept, as long as every entry up to `as_of` that lets in or takes out is in it."""

    async def of(self, chat: ChatKey, as_of: int) -> AudienceSnapshot: ...

    async def everyone(self, chat: ChatKey) -> Sequence[Membership]:
        """Also of a large chat. Reads as much as there are members."""
        ...


class MemberReader(Protocol):
    async def chat(self, chat: ChatKey) -> Chat | None: ...

    async def members(self, chat: ChatKey) -> Sequence[Membership]:
        """Who was ever in it, and when; strong, or known for good."""
        ...


class ChatReader(Protocol):
    """Rows of chats and memberships. Strong, but for the names."""

    async def chat(self, chat: ChatKey) -> Chat | None: ...

    async def membership(self, chat: ChatKey, user: UserId) -> Membership | None: ...

    async def members(self, chat: ChatKey) -> Sequence[Membership]: ...

    async def names(self, tenant: TenantId, chats: Sequence[ChatId]) -> Mapping[ChatId, Chat]:
        """Name and size of each. For people to look at: may be a moment behind."""
        ...


class LogReader(Protocol):
    """The log, read only. Strong."""

    async def one(self, chat: ChatKey, sequence: int) -> Entry | None: ...

    async def between(self, chat: ChatKey, after: int, up_to: int) -> Sequence[Entry]:
        """Entries of `(after, up_to]` in order, without holes: as many as one read gives, at least one if there is one."""
        ...


type PreviewText = Callable[[bytes], str]
"""What a body says in words; empty if it has none."""


class SealingKeys(Protocol):
    def seal_preview(self, chat: ChatKey, sequence: int, preview: bytes, /) -> bytes: ...


class OpeningKeys(Protocol):
    """Raises `decryption_failed` for what was not sealed for this place."""

    def unseal(self, chat: ChatKey, sequence: int, content: bytes, /) -> bytes: ...

    def unseal_preview(self, chat: ChatKey, sequence: int, preview: bytes, /) -> bytes: ...


class DeliveryKeys(Protocol):
    """Raises `keys_unavailable` while keys can't be had and none are at hand."""

    async def of(self, tenant: TenantId, /) -> SealingKeys: ...

    async def to_read(self, tenant: TenantId, contents: Collection[bytes], /) -> OpeningKeys: ...
