"""How far users got: `delivered` and `read`. They only go forward."""

from tidings_sdk.fields import Name, Sequence, Watermarks
from tidings_sdk.frames.shape import Body


class Ack(Body, frozen=True, kw_only=True):
    """The device holds each of these chats up to there."""

    delivered: Watermarks


class Read(Body, frozen=True, kw_only=True):
    """The user has read the chat up to there."""

    chat: Name
    sequence: Sequence


class Receipt(Body, frozen=True, kw_only=True):
    """A member got further: what is told of is told as it is now."""

    chat: str
    user: str
    delivered: int | None = None
    read: int | None = None
