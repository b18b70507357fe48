"""Faults of a plain TCP connection, for Kafka and Redis. All are data; `tcp_link` and `tcp_proxy` obey them."""

from dataclasses import dataclass
from enum import Flag, auto


class Direction(Flag):
    """Which way bytes go."""

    TO_UPSTREAM = auto()
    TO_CLIENT = auto()
    BOTH = TO_UPSTREAM | TO_CLIENT


@dataclass(frozen=True, slots=True)
class Latency:
    """Each byte arrives so much later; how many are on their way at once is not bounded by it."""

    seconds: float
    direction: Direction = Direction.BOTH


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """At most so many bytes a second, for each connection and direction."""

    bytes_per_s: int
    direction: Direction = Direction.BOTH


@dataclass(frozen=True, slots=True)
class Freeze:
    """Connections are accepted and stay open, bytes stop; when it is removed they flow again, none lost."""

    direction: Direction = Direction.BOTH


@dataclass(frozen=True, slots=True)
class Blackhole:
    """After so many more bytes of a connection in a direction, the rest vanishes and nobody is told.

    When it is removed, connections that lost something are reset: a stream with a hole must not go on.
    """

    after_bytes: int = 0
    direction: Direction = Direction.BOTH


@dataclass(frozen=True, slots=True)
class Refuse:
    """Nobody listens on the port; it is kept, and listened on again when this is removed. Connections stay."""


type TcpFault = Latency | Bandwidth | Freeze | Blackhole | Refuse
