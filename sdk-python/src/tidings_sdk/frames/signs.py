"""Signs of life: typing, presence, heartbeats. None of them is stored, any of them may be lost."""

from typing import Literal

from tidings_sdk.fields import Name, Names, UserNames
from tidings_sdk.frames.shape import Body


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
