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


class MemberWatermarks(Body, frozen=True, kw_only=True):
    """How far a member got; what is left out is not told of. `since`: the entry that let him in last."""

    user: str
    delivered: int | None = None
    read: int | None = None
    since: int | None = None


class Receipts(Body, frozen=True, kw_only=True):
    """Members got further, as far as is told. A user's own comes to all his devices, of any chat.

    `is_all`: the first after `subscribe`; who is not in it is not a member now.
    """

    chat: str
    members: tuple[MemberWatermarks, ...]
    is_all: bool = False
