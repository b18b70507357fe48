"""Connect, resume, and the request to reconnect."""

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
    """Authenticate the connection and report the device's position in each chat. This is the first frame.

    The server ignores unknown fields in this request only, because it precedes the agreement on a protocol level.
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
    """The limits of this connection."""

    frame_bytes: int
    in_flight: int
    frames_per_s: int
    burst: int


class Welcome(ResponseBody, frozen=True, kw_only=True):
    """The answer to `connect`. `protocol` is the lower of the two levels.

    If `epoch` differs from the device's, the installation was restored and the device's positions are invalid.
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
    """Report positions again, or a further part of them. `has_more`: another part follows."""

    positions: Positions = field(default_factory=dict)
    epoch: Epoch | None = None
    has_more: bool = False

    def counts_in(self, epoch: int) -> bool:
        """Return whether the positions are valid in `epoch`.

        Positions without an epoch belong to the first one. Position 0 is valid in every epoch.
        """
        if self.epoch is not None:
            return self.epoch == epoch
        return epoch == 0 or not any(self.positions.values())


class Resumed(ResponseBody, frozen=True, kw_only=True):
    """All entries after the positions were pushed. New entries are pushed from now on.

    `is_reset`: the positions belonged to another epoch and were ignored. `has_more`: the server waits for the next part.
    """

    epoch: EpochOut
    is_reset: bool = False
    has_more: bool = False


class ResumeRequired(ResponseBody, frozen=True, kw_only=True):
    """Pushes may be lost: send `resume` with the current positions."""


class Reconnect(ResponseBody, frozen=True, kw_only=True):
    """Open a new connection after `retry_after_ms` plus a random part of `spread_ms`. This one works until then."""

    retry_after_ms: MillisecondsOut
    spread_ms: MillisecondsOut
    reason: str
