"""What one connection is held to. Per-user and per-tenant limits are elsewhere: they need Redis."""

from dataclasses import dataclass

from tidings.wire.bounds import MAX_FRAME_BYTES
from tidings.wire.frames.connecting import Limits as LimitsTold


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """`user_in_flight`: over all connections of a user to this process.

    `faults`: so many frames that are not of the protocol are answered, and one more comes free each `fault_every_s`.

    `pong_within_s`: after a heartbeat, so long until silence means that nobody is there.
    """

    authenticate_within_s: float = 5.0
    resume_within_s: float = 30.0
    drain_grace_s: float = 5.0
    heartbeat_s: float = 25.0
    pong_within_s: float = 10.0
    max_frame_bytes: int = MAX_FRAME_BYTES
    in_flight: int = 32
    user_in_flight: int = 128
    frames_per_s: int = 50
    burst: int = 100
    faults: int = 8
    fault_every_s: float = 10.0
    typing_every_s: float = 3.0
    typing_chats: int = 16
    retry_after_ms: int = 1_000

    def as_frame(self) -> LimitsTold:
        return LimitsTold(
            frame_bytes=self.max_frame_bytes,
            in_flight=self.in_flight,
            frames_per_s=self.frames_per_s,
            burst=self.burst,
        )
