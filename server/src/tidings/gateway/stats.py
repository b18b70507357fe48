"""Counters of a gateway since its start, which metrics read."""

from dataclasses import dataclass, field

from tidings.gateway.transport.ports import SocketCloseCode as SocketCode
from tidings.wire.close_codes import CloseCode


@dataclass(slots=True)
class GatewayStats:
    """Pushes and resumes.

    deferred: pushes that arrived while a device resumed or a range was read.
    old: pushes that the device had already.
    ranges: reads of a log.
    """

    pushes: int = 0
    entries: int = 0
    deferred: int = 0
    old: int = 0
    gaps: int = 0
    undelivered: int = 0
    ranges: int = 0
    resumes: int = 0
    resume_retries: int = 0
    resumes_failed: int = 0


_NAMES = {int(code): code.name.lower() for code in (*SocketCode, *CloseCode)}
_OTHER = "other"


@dataclass(slots=True)
class TrafficStats:
    """Frames and bytes of all sockets. `closes`: by the name of the close code, of either side."""

    frames_in: int = 0
    bytes_in: int = 0
    frames_out: int = 0
    bytes_out: int = 0
    closes: dict[str, int] = field(default_factory=dict)

    def closed(self, code: int) -> None:
        """Count a close by its name: a device may send any number, and the metric must stay bounded."""
        name = _NAMES.get(code, _OTHER)
        self.closes[name] = self.closes.get(name, 0) + 1


@dataclass(slots=True)
class EphemeralStats:
    """Frames of ephemeral events by kind.

    states: complete states of a chat that were read.
    subscriptions: users whose presence was looked up.
    lost: messages that could not be published because Redis did not answer.
    """

    receipts: int = 0
    typing: int = 0
    presence: int = 0
    own_reads: int = 0
    states: int = 0
    subscriptions: int = 0
    lost: int = 0
