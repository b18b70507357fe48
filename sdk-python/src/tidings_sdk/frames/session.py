"""The first frames of a connection, resuming, and how it is asked to go elsewhere."""

from typing import override

from msgspec import field

from tidings_sdk.frames.structs import Body


class Connect(Body, frozen=True, kw_only=True):
    """The first frame: who it is, and up to where the device holds each chat."""

    credential: str
    protocol: int
    device: str | None = None
    sdk: str = ""
    epoch: int | None = None
    positions: dict[str, int] = field(default_factory=dict)
    has_more: bool = False

    @override
    def __repr__(self) -> str:
        return f"Connect(credential='***', protocol={self.protocol}, device={self.device!r})"


class Limits(Body, frozen=True, kw_only=True):
    """What this connection is held to."""

    frame_bytes: int
    in_flight: int
    frames_per_s: int
    burst: int


class Welcome(Body, frozen=True, kw_only=True):
    """The answer to `connect`. Another `epoch` than the device's: the installation was restored."""

    protocol: int
    user: str
    device: str
    epoch: int
    at: int
    heartbeat_s: int
    limits: Limits
    expires_at: int | None = None


class Resume(Body, frozen=True, kw_only=True):
    """Positions, again or as a further part. `has_more`: another part follows."""

    positions: dict[str, int] = field(default_factory=dict)
    epoch: int | None = None
    has_more: bool = False


class Resumed(Body, frozen=True, kw_only=True):
    """Everything ahead of the positions has been pushed; from here on it comes as it happens."""

    epoch: int
    is_reset: bool = False
    has_more: bool = False


class ResumeRequired(Body, frozen=True, kw_only=True):
    """Pushes may have been missed: send `resume` with the positions as they are now."""


class Reconnect(Body, frozen=True, kw_only=True):
    """Connect anew after `retry_after_ms` and a random part of `spread_ms`."""

    retry_after_ms: int
    spread_ms: int
    reason: str
