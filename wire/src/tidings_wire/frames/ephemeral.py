"""Acks, receipts, typing, presence and heartbeats. Typing and presence are not stored; any push may be lost."""

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
    """Report that the user is typing. Repeat it every 3 seconds; more frequent repeats are not forwarded."""

    chat: ChatName
    is_typing: bool = True


class Presence(RequestBody, frozen=True, kw_only=True):
    """Set the presence status of the user on this device."""

    status: PresenceStatusName


class Subscribe(RequestBody, frozen=True, kw_only=True):
    """Subscribe to typing and receipts of chats, and to presence of users. Entries need no subscription."""

    chats: _Chats = ()
    users: _Users = ()


class Unsubscribe(RequestBody, frozen=True, kw_only=True):
    """End the subscriptions to these chats and users."""

    chats: _Chats = ()
    users: _Users = ()


class Ping(RequestBody, frozen=True, kw_only=True):
    """Check the connection. With an `id`, the answer gives the round-trip time."""


class Pong(RequestBody, frozen=True, kw_only=True):
    """Answer the server's `ping`."""


class TypingPush(ResponseBody, frozen=True, kw_only=True):
    """A user is typing, or has stopped. Typing ends automatically after 6 seconds without another push."""

    chat: ChatNameOut
    user: UserNameOut
    is_typing: bool = True


class PresencePush(ResponseBody, frozen=True, kw_only=True):
    """The presence status of a user. `at`: when an offline user was last seen."""

    user: UserNameOut
    status: PresenceStatusOut
    at: MillisecondsOut | None = None


class PingPush(ResponseBody, frozen=True, kw_only=True):
    """The server's heartbeat. Answer with `pong`, or with anything else."""


class Ack(RequestBody, frozen=True, kw_only=True):
    """Acknowledge entries: the device has each of these chats up to the given sequence."""

    delivered: Watermarks


class Read(RequestBody, frozen=True, kw_only=True):
    """Mark a chat as read up to `sequence`."""

    chat: ChatName
    sequence: Sequence


class MemberWatermarks(ResponseBody, frozen=True, kw_only=True):
    """The watermarks of a member. An absent one has not changed. `since`: the entry of the member's last join."""

    user: UserNameOut
    delivered: SequenceOut | None = None
    read: SequenceOut | None = None
    since: SequenceOut | None = None


class Receipts(ResponseBody, frozen=True, kw_only=True):
    """New watermarks of members. A user's own are pushed to all their devices, for any chat.

    `is_snapshot`: the watermarks of all current members, pushed first after `subscribe`.
    """

    chat: ChatNameOut
    members: tuple[MemberWatermarks, ...]
    is_snapshot: bool = False
