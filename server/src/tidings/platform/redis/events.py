"""What a subscriber is told, in the order in which it happened. Times are the loop's (monotonic) seconds."""

from collections.abc import Callable

from msgspec import Struct


class ChannelMessage(Struct, frozen=True):
    """Somebody published this."""

    payload: bytes


class ChannelLost(Struct, frozen=True):
    """What was published after `since` may be missing, until `ChannelSubscribed` comes."""

    since: float
    reason: str


class ChannelSubscribed(Struct, frozen=True):
    """The server has confirmed: everything published from now on comes, until `ChannelLost`."""

    at: float
    lost_since: float | None = None
    """Since when messages may be missing; None at the first time."""


type ChannelEvent = ChannelMessage | ChannelLost | ChannelSubscribed
type ChannelHandler = Callable[[ChannelEvent], None]
"""Takes events one by one, at once and without blocking."""
