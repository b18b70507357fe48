"""Events on a chat's ephemeral channel, hints on a user's presence channel, and presence itself."""

from enum import StrEnum
from typing import NamedTuple

import msgspec
from msgspec import Struct

from tidings.kernel.errors import wrap_decoder
from tidings.kernel.ids import UserId


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
