"""What a subscriber is told, in the order in which it happened. Times are the loop's (monotonic) seconds."""

from collections.abc import Callable

from msgspec import Struct


class Message(Struct, frozen=True):
    """Somebody published this."""

    payload: bytes


class Lost(Struct, frozen=True):
    """What was published after `since` may be missing, until `Standing` comes."""

    since: float
    reason: str


class Standing(Struct, frozen=True):
    """The server has confirmed: everything published from now on comes, until `Lost`."""

    at: float
    lost_since: float | None = None
    """Since when messages may be missing; None at the first time."""


type Event = Message | Lost | Standing
type Sink = Callable[[Event], None]
"""Takes events one by one, at once and without blocking."""
