"""The first frames of a connection, resuming, and how it is asked to go elsewhere."""

from typing import Annotated, override

from msgspec import Meta, field

from tidings_wire.fields import (
    MAX_CREDENTIAL_CHARS,
    DeviceName,
    Epoch,
    EpochOut,
    MillisecondsOut,
    Positions,
    ProtocolLevel,
    ProtocolLevelOut,
    UserNameOut,
)
from tidings_wire.frames.structs import Body, RequestBody, ResponseBody


class Connect(Body, frozen=True, kw_only=True):
    """The first frame: who it is, and up to where the device holds each chat.

    The one request of which unknown fields are ignored: it is sent before a protocol level is agreed.
    """

    credential: Annotated[str, Meta(min_length=1, max_length=MAX_CREDENTIAL_CHARS)]
    protocol: ProtocolLevel
    device: DeviceName | None = None
    sdk: Annotated[str, Meta(max_length=64)] = ""
    epoch: Epoch | None = None
    positions: Positions = field(default_factory=dict)
    has_more: bool = False

    @override
    def __repr__(self) -> str:
        return (
            f"Connect(credential='***', protocol={self.protocol}, device={self.device!r}, sdk={self.sdk!r})"
        )


class Limits(ResponseBody, frozen=True, kw_only=True):
    """What this connection is held to."""

    frame_bytes: int
    in_flight: int
    frames_per_s: int
    burst: int


class Welcome(ResponseBody, frozen=True, kw_only=True):
    """The answer to `connect`. `protocol` is the lower of the two levels.

    `epoch` other than the device's: the installation was restored, positions and outbox begin anew.
    """

    protocol: ProtocolLevelOut
    user: UserNameOut
    device: UserNameOut
    epoch: EpochOut
    at: MillisecondsOut
    heartbeat_s: int
    limits: Limits
    expires_at: MillisecondsOut | None = None


class Resume(RequestBody, frozen=True, kw_only=True):
    """Positions, again or as a further part. `has_more`: another part follows."""

    positions: Positions = field(default_factory=dict)
    epoch: Epoch | None = None
    has_more: bool = False

    def counts_in(self, epoch: int) -> bool:
        """Positions that name no epoch are of the first one; 0 is the same in all of them."""
        if self.epoch is not None:
            return self.epoch == epoch
        return epoch == 0 or not any(self.positions.values())


class Resumed(ResponseBody, frozen=True, kw_only=True):
    """Everything ahead of the positions has been pushed; from here on it comes as it happens.

    `is_reset`: the positions were of another epoch and did not count. `has_more`: the next part is waited for.
    """

    epoch: EpochOut
    is_reset: bool = False
    has_more: bool = False


class ResumeRequired(ResponseBody, frozen=True, kw_only=True):
    """Pushes may have been missed: send `resume` with the positions as they are now."""


class Reconnect(ResponseBody, frozen=True, kw_only=True):
    """Connect anew after `retry_after_ms` and a random part of `spread_ms`. This connection goes on until then."""

    retry_after_ms: MillisecondsOut
    spread_ms: MillisecondsOut
    reason: str
