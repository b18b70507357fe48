"""What is said on a chat's sign channel and on a user's presence channel, and what presence is.

Whoever has something to tell says it once, whether anybody listens or not.
"""

from enum import StrEnum
from typing import NamedTuple

import msgspec
from msgspec import Struct

from tidings.kernel.errors import wrap_decoder
from tidings.kernel.ids import UserId


class MemberReceipt(Struct, frozen=True, array_like=True, gc=False):
    """How far a member got; 0: not told of, or nowhere yet. `since`: the entry that let him in last, 0 if not told."""

    user: UserId
    delivered: int = 0
    read: int = 0
    since: int = 0


class ReceiptsEvent(Struct, frozen=True, array_like=True, tag="receipts", gc=False):
    """Members of the channel's chat who got further within one window, each once."""

    members: tuple[MemberReceipt, ...]


class TypingEvent(Struct, frozen=True, array_like=True, tag="typing", gc=False):
    user: UserId
    is_typing: bool


type EphemeralEvent = ReceiptsEvent | TypingEvent
"""On a chat's sign channel."""


class PresenceHint(StrEnum):
    """On a user's presence channel: what may have changed. Never the state itself, which Redis has."""

    CAME = "came"
    """A device of his has a route now."""
    LEFT = "left"
    """A device of his has none any more; others may."""
    CHANGED = "changed"
    """A device went away or came back to its screen."""
    RULES = "rules"
    """Who may see him may have changed."""


class PresenceStatus(StrEnum):
    ONLINE = "online"
    AWAY = "away"
    OFFLINE = "offline"


class Presence(NamedTuple):
    """`seen_ms`: when he was last there, if he is not; None: nobody knows."""

    status: PresenceStatus
    seen_ms: int | None = None


UNKNOWN = Presence(PresenceStatus.OFFLINE)
"""What everybody is to whom he may not see: the same as somebody of whom nothing is known."""


class PresenceRecord(NamedTuple):
    """What Redis knows of a user. `disconnected_ms`: for so long he has had no route; None: he has one, or nobody knows."""

    presence: Presence
    disconnected_ms: int | None = None


_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[EphemeralEvent] = msgspec.msgpack.Decoder(EphemeralEvent)
_decode = wrap_decoder(_decoder.decode, msgspec.DecodeError)


def encode_event(sign: EphemeralEvent) -> bytes:
    return _encoder.encode(sign)


def decode_event(payload: bytes) -> EphemeralEvent:
    """Raises `msgspec.DecodeError` for what is none."""
    return _decode(payload)
