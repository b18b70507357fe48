"""What went through a gateway since its start, as plain numbers for metrics to read; and what it tells of calls."""

from dataclasses import dataclass, field
from typing import Protocol, final

from tidings.gateway.socket.ports import SocketCloseCode as SocketCode
from tidings.wire.close_codes import CloseCode

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
