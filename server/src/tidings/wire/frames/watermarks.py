"""How far users got: `delivered` and `read`. They only go forward."""

from tidings.wire.fields import ChatName, Sequence, UserName, Watermarks
from tidings.wire.frames.shape import RequestBody, ResponseBody


class Ack(RequestBody, frozen=True, kw_only=True):
    """The device holds each of these chats up to there."""

    delivered: Watermarks


class Read(RequestBody, frozen=True, kw_only=True):
    """The user has read the chat up to there."""

    chat: ChatName
    sequence: Sequence


class MemberWatermarks(ResponseBody, frozen=True, kw_only=True):
    """How far a member got; what is left out is not told of. `since`: the entry that let him in last."""

    user: UserName
    delivered: Sequence | None = None
    read: Sequence | None = None
    since: Sequence | None = None


class Receipts(ResponseBody, frozen=True, kw_only=True):
    """Members got further, as far as is told. A user's own comes to all his devices, of any chat.

    `is_all`: the first after `subscribe`; who is not in it is not a member now.
    """

    chat: ChatName
    members: tuple[MemberWatermarks, ...]
    is_all: bool = False
