"""Signs of life: typing, presence, heartbeats. None of them is stored, any of them may be lost."""

from typing import Annotated

from msgspec import Meta

from tidings_wire.fields import (
    MAX_SUBSCRIPTIONS,
    ChatName,
    ChatNameOut,
    MillisecondsOut,
    PresenceStatusName,
    PresenceStatusOut,
    Sequence,
    SequenceOut,
    UserName,
    UserNameOut,
    Watermarks,
)
from tidings_wire.frames.structs import RequestBody, ResponseBody

_Chats = Annotated[tuple[ChatName, ...], Meta(max_length=MAX_SUBSCRIPTIONS)]
_Users = Annotated[tuple[UserName, ...], Meta(max_length=MAX_SUBSCRIPTIONS)]


class Typing(RequestBody, frozen=True, kw_only=True):
    """The user types. Repeated every few seconds while it goes on; more often is not passed on."""

    chat: ChatName
    is_typing: bool = True


class Presence(RequestBody, frozen=True, kw_only=True):
    """How the user is there, on this device."""

    status: PresenceStatusName


class Subscribe(RequestBody, frozen=True, kw_only=True):
    """Typing and receipts of these chats, presence of these users. Entries come without asking."""

    chats: _Chats = ()
    users: _Users = ()


class Unsubscribe(RequestBody, frozen=True, kw_only=True):
    """No more of these."""

    chats: _Chats = ()
    users: _Users = ()


class Ping(RequestBody, frozen=True, kw_only=True):
    """With an `id`: is the server there, and how far away?"""


class Pong(RequestBody, frozen=True, kw_only=True):
    """The device's answer to the server's `ping`."""


class TypingPush(ResponseBody, frozen=True, kw_only=True):
    """Somebody types, or stopped. It ends by itself after some seconds without another one."""

    chat: ChatNameOut
    user: UserNameOut
    is_typing: bool = True


class PresencePush(ResponseBody, frozen=True, kw_only=True):
    """A user came, went or is away. `at`: when he was last seen, if he is offline."""

    user: UserNameOut
    status: PresenceStatusOut
    at: MillisecondsOut | None = None


class PingPush(ResponseBody, frozen=True, kw_only=True):
    """The server's heartbeat. Answer with `pong`, or with anything else."""


class Ack(RequestBody, frozen=True, kw_only=True):
    """The device holds each of these chats up to there."""

    delivered: Watermarks


class Read(RequestBody, frozen=True, kw_only=True):
    """The user has read the chat up to there."""

    chat: ChatName
    sequence: Sequence


class MemberWatermarks(ResponseBody, frozen=True, kw_only=True):
    """How far a member got; what is left out is not told of. `since`: the entry that let him in last."""

    user: UserNameOut
    delivered: SequenceOut | None = None
    read: SequenceOut | None = None
    since: SequenceOut | None = None


class Receipts(ResponseBody, frozen=True, kw_only=True):
    """Members got further, as far as is told. A user's own comes to all his devices, of any chat.

    `is_snapshot`: the first after `subscribe`; who is not in it is not a member now.
    """

    chat: ChatNameOut
    members: tuple[MemberWatermarks, ...]
    is_snapshot: bool = False
