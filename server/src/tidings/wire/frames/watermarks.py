"""How far users got: `delivered` and `read`. They only go forward."""

from tidings.wire.fields import ChatName, Sequence, UserName, Watermarks
from tidings.wire.frames.shape import Asked, Body


class Ack(Asked, frozen=True, kw_only=True):
    """The device holds each of these chats up to there."""

    delivered: Watermarks


class Read(Asked, frozen=True, kw_only=True):
    """The user has read the chat up to there."""

    chat: ChatName
    sequence: Sequence


class Receipt(Body, frozen=True, kw_only=True):
    """A member got further: what is told of is told as it is now."""

    chat: ChatName
    user: UserName
    delivered: Sequence | None = None
    read: Sequence | None = None
