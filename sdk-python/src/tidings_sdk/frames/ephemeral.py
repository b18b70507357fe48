"""Signs of life: typing, presence, heartbeats. None of them is stored, any of them may be lost."""

from typing import Literal

from tidings_sdk.fields import Name, Names, Sequence, UserNames, Watermarks
from tidings_sdk.frames.structs import Body


class Typing(Body, frozen=True, kw_only=True):
    """The user types. Repeated every few seconds while it goes on."""

    chat: Name
    is_typing: bool = True


class Presence(Body, frozen=True, kw_only=True):
    """How the user is there, on this device."""

    status: Literal["online", "away", "offline"]


class Subscribe(Body, frozen=True, kw_only=True):
    """Typing and receipts of these chats, presence of these users. Entries come without asking."""

    chats: Names = ()
    users: UserNames = ()


class Unsubscribe(Body, frozen=True, kw_only=True):
    """No more of these."""

    chats: Names = ()
    users: UserNames = ()


class Ping(Body, frozen=True, kw_only=True):
    """With an `id`: is the server there, and how far away?"""


class Pong(Body, frozen=True, kw_only=True):
    """The device's answer to the server's `ping`."""


class TypingPush(Body, frozen=True, kw_only=True):
    """Somebody types, or stopped. It ends by itself after some seconds without another one."""

    chat: str
    user: str
    is_typing: bool = True


class PresencePush(Body, frozen=True, kw_only=True):
    """A user came, went or is away. `at`: when he was last seen, if he is offline."""

    user: str
    status: str
    at: int | None = None


class PingPush(Body, frozen=True, kw_only=True):
    """The server's heartbeat."""


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

    `is_snapshot`: the first after `subscribe`; who is not in it is not a member now.
    """

    chat: str
    members: tuple[MemberWatermarks, ...]
    is_snapshot: bool = False
