"""What a gateway has done for its devices since its start, as plain numbers for metrics to read."""

from dataclasses import dataclass, field
from typing import Protocol, final

from tidings.gateway.transport.ports import SocketCloseCode as SocketCode
from tidings_wire.close_codes import CloseCode


@dataclass(slots=True)
class GatewayStats:
    """`deferred`: pushes that came while a device resumed or read; `old`: those that it had. `ranges`: reads of the log."""

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
    """`closes` by the name of their code, whoever closed."""

    frames_in: int = 0
    bytes_in: int = 0
    frames_out: int = 0
    bytes_out: int = 0
    closes: dict[str, int] = field(default_factory=dict)

    def closed(self, code: int) -> None:
        """By name: a device may close with any number, and metrics must not grow by it."""
        name = _NAMES.get(code, _OTHER)
        self.closes[name] = self.closes.get(name, 0) + 1


class RequestMetrics(Protocol):
    def called(self, kind: str, took_s: float, *, is_ok: bool) -> None:
        """A request was answered. `kind` is its name in the protocol."""
        ...


@final
class NoRequestMetrics:
    def called(self, kind: str, took_s: float, *, is_ok: bool) -> None: ...


@dataclass(slots=True)
class EphemeralStats:
    """Frames by kind; `states`: whole states that were read; `subscriptions`: users whose presence was looked up.

    `lost`: what could not be said, because Redis did not answer.
    """

    receipts: int = 0
    typing: int = 0
    presence: int = 0
    own_reads: int = 0
    states: int = 0
    subscriptions: int = 0
    lost: int = 0
