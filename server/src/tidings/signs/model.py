"""What is said on a chat's sign channel and on a user's presence channel, and what presence is.

Whoever has something to tell says it once, whether anybody listens or not.
"""

from enum import StrEnum
from typing import NamedTuple

import msgspec
from msgspec import Struct

from tidings.kernel.decoding import decoding
from tidings.kernel.ids import UserId


class Got(Struct, frozen=True, array_like=True, gc=False):
    """How far a member got; 0: not told of, or nowhere yet. `since`: the entry that let him in last, 0 if not told."""

    user: UserId
    delivered: int = 0
    read: int = 0
    since: int = 0


class Receipts(Struct, frozen=True, array_like=True, tag="receipts", gc=False):
    """Members of the channel's chat who got further within one window, each once."""

    members: tuple[Got, ...]


class Typing(Struct, frozen=True, array_like=True, tag="typing", gc=False):
    user: UserId
    is_typing: bool


type Sign = Receipts | Typing
"""On a chat's sign channel."""


class Hint(StrEnum):
    """On a user's presence channel: what may have changed. Never the state itself, which Redis has."""

    CAME = "came"
    """A device of his has a route now."""
    LEFT = "left"
    """A device of his has none any more; others may."""
    CHANGED = "changed"
    """A device went away or came back to its screen."""
    RULES = "rules"
    """Who may see him may have changed."""


class Status(StrEnum):
    ONLINE = "online"
    AWAY = "away"
    OFFLINE = "offline"


class Presence(NamedTuple):
    """`seen_ms`: when he was last there, if he is not; None: nobody knows."""

    status: Status
    seen_ms: int | None = None


UNKNOWN = Presence(Status.OFFLINE)
"""What everybody is to whom he may not see: the same as somebody of whom nothing is known."""


class Found(NamedTuple):
    """What Redis knows of a user. `gone_ms`: for so long he has had no route; None: he has one, or nobody knows."""

    presence: Presence
    gone_ms: int | None = None


_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Sign] = msgspec.msgpack.Decoder(Sign)
_decode = decoding(_decoder.decode, msgspec.DecodeError)


def encode(sign: Sign) -> bytes:
    return _encoder.encode(sign)


def decode(payload: bytes) -> Sign:
    """Raises `msgspec.DecodeError` for what is none."""
    return _decode(payload)
