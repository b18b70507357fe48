"""Measured CPU, memory and sizes, each with the committed page that has it. Change both together."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """A value, and where it was measured: the page in `docs/`, and the commit that was measured."""

    value: float
    page: str
    commit: str


DIRECT_US = Measured(1_060, "benchmarks/messages.md", "6b0f25d3")
"""CPU of all processes for a direct message between two gateways, at the peak, with Debian's Python."""
GATEWAY_SHARE = Measured(0.53, "explanation/measurements.md", "b733499")
"""Share of both gateways in it: 489 of 1,840 µs each. The worker has 833, the relay 29."""
DELIVERY_SHARE = Measured(0.45, "explanation/measurements.md", "b733499")
RELAY_SHARE = Measured(0.02, "explanation/measurements.md", "b733499")
GROUP_100_WORKER_US = Measured(3_700, "benchmarks/messages.md", "a83a01ef")
"""CPU of the worker for a message to 99 absent members: it looks up the route of each."""
FANOUT_US = Measured(14, "benchmarks/messages.md", "a83a01ef")
"""CPU of all processes for the delivery of a message of a large group to one device."""
CONNECT_US = Measured(1_391, "benchmarks/messages.md", "20c2d04e")
READ_REQUEST_US = Measured(692, "benchmarks/api.md", "6b0f25d3")
"""CPU of the API for a request of the mix of reads."""
CONNECTION_KB = Measured(13.7, "benchmarks/report.md", "f9e037e")
"""Memory of a gateway for a connection, at 20,000 connections."""
REDIS_US = Measured(146, "explanation/measurements.md", "b733499")
"""CPU of Valkey for a direct message, at the peak."""
WIRE_BYTES = Measured(199, "benchmarks/messages.md", "a83a01ef")
"""Bytes of a message with 100 bytes of text to a device."""
WIRE_TEXT_BYTES = 100

ALL = (
    DIRECT_US,
    GATEWAY_SHARE,
    DELIVERY_SHARE,
    RELAY_SHARE,
    GROUP_100_WORKER_US,
    FANOUT_US,
    CONNECT_US,
    READ_REQUEST_US,
    CONNECTION_KB,
    REDIS_US,
    WIRE_BYTES,
)

# Planned, not measured.
PROCESS_MB = 150
"""Memory of an idle process."""
ROUTE_BYTES = 1_000
"""Redis: the route, presence and rate-limit tokens of a connected device."""
RECORD_BYTES = 250
"""Kafka: a message record without its content."""
CHECK_BYTES = 250
"""Kafka: a check or an offline event."""
CPU_SHARE = 0.6
"""Share of a core that a process uses at the peak, so that one of three zones may fail."""
