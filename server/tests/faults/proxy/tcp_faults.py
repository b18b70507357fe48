"""Faults of a TCP connection, for Kafka and Redis. They are data; `tcp_link` and `tcp_proxy` apply them."""

from dataclasses import dataclass
from enum import Flag, auto


class Direction(Flag):
    """Direction of bytes."""

    TO_UPSTREAM = auto()
    TO_CLIENT = auto()
    BOTH = TO_UPSTREAM | TO_CLIENT


@dataclass(frozen=True, slots=True)
class Latency:
    """Delay each byte by this time. The number of bytes in flight is not limited."""

    seconds: float
    direction: Direction = Direction.BOTH


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Limit the bytes per second of each connection and direction."""

    bytes_per_s: int
    direction: Direction = Direction.BOTH


@dataclass(frozen=True, slots=True)
class Freeze:
    """Accept connections and keep them open, and stop all bytes. After removal they continue; none is lost."""

    direction: Direction = Direction.BOTH


@dataclass(frozen=True, slots=True)
class Blackhole:
    """Discard all bytes of a connection and direction after this number, without closing it.

    Removing the fault resets the connections that lost bytes, because a stream with a gap must not continue.
    """

    after_bytes: int = 0
    direction: Direction = Direction.BOTH


@dataclass(frozen=True, slots=True)
class Refuse:
    """Refuse new connections. The port stays reserved and listens again after removal. Open connections stay."""


type TcpFault = Latency | Bandwidth | Freeze | Blackhole | Refuse
