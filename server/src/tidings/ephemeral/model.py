"""Events on a chat's ephemeral channel, hints on a user's presence channel, presence itself, and the ports.

All reads of DynamoDB are strongly consistent.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

import msgspec
from msgspec import Struct

from tidings.delivery.model import ChatRow
from tidings.kernel.errors import wrap_decoder
from tidings.kernel.ids import ChatId, ChatKey, DeviceKey, TenantId, UserId


class MemberReceipt(Struct, frozen=True, array_like=True, gc=False):
    """Watermarks of a member; 0 means unchanged or none. `since`: sequence of their last join, 0 if unchanged."""

    user: UserId
    delivered: int = 0
    read: int = 0
    since: int = 0


class ReceiptsEvent(Struct, frozen=True, array_like=True, tag="receipts", gc=False):
    """Members whose watermarks advanced within one window, each once."""

    members: tuple[MemberReceipt, ...]


class TypingEvent(Struct, frozen=True, array_like=True, tag="typing", gc=False):
    user: UserId
    is_typing: bool


type EphemeralEvent = ReceiptsEvent | TypingEvent


class PresenceHint(StrEnum):
    """What may have changed. The state itself is always read from Redis."""

    CAME = "came"
    """A device of the user has registered a route."""
    LEFT = "left"
    """A route was removed. Other devices of the user may still be connected."""
    CHANGED = "changed"
    """A device set or cleared its away flag."""
    RULES = "rules"
    """The set of users who may see this user may have changed."""


class PresenceStatus(StrEnum):
    ONLINE = "online"
    AWAY = "away"
    OFFLINE = "offline"


class Presence(NamedTuple):
    """`seen_ms`: when an offline user was last connected; None if unknown."""

    status: PresenceStatus
    seen_ms: int | None = None


UNKNOWN = Presence(PresenceStatus.OFFLINE)
"""Shown for users that the viewer may not see: the same as for a user who never connected."""


class PresenceRecord(NamedTuple):
    """Presence as Redis has it. `disconnected_ms`: time since the last route; None if connected or unknown."""

    presence: Presence
    disconnected_ms: int | None = None


_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[EphemeralEvent] = msgspec.msgpack.Decoder(EphemeralEvent)
_decode = wrap_decoder(_decoder.decode, msgspec.DecodeError)


def encode_event(event: EphemeralEvent) -> bytes:
    return _encoder.encode(event)


def decode_event(payload: bytes) -> EphemeralEvent:
    """Decode a payload. Raises `msgspec.DecodeError` if it is invalid."""
    return _decode(payload)


type RowReader = Callable[[ChatKey, Sequence[UserId]], Awaitable[Mapping[UserId, ChatRow]]]
"""Reads chat rows. They include every `read`; a `delivered` receipt may be published before its watermark is written."""


class PresenceStore(Protocol):
    """Presence in Redis. Raises `UnavailableError`."""

    async def set_away(self, device: DeviceKey, epoch: int, *, is_away: bool) -> bool:
        """Set the away flag for the route with this epoch. Return False if nothing changed."""
        ...

    async def read(self, tenant: TenantId, users: Sequence[UserId]) -> Mapping[UserId, PresenceRecord]:
        """Read the presence of users. Leaves out users whose shard does not answer; raises if no shard answers."""
        ...


class VisibilityReader(Protocol):
    async def hidden(self, tenant: TenantId, users: Collection[UserId]) -> set[UserId]:
        """Return the users who hide their presence from everyone."""
        ...

    async def blockers(self, tenant: TenantId, users: Collection[UserId], whom: UserId) -> set[UserId]:
        """Return the users who block `whom`."""
        ...

    async def chats_of(self, tenant: TenantId, user: UserId) -> set[ChatId]:
        """Return the chats in which the user is a member now."""
        ...
