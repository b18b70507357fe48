"""Metrics of the gateway. Most are counters that are read when Prometheus scrapes."""

from collections.abc import Mapping
from typing import final

from tidings.gateway.ephemeral.service import EphemeralService
from tidings.gateway.node import GatewayNode
from tidings.gateway.server import GatewayServer
from tidings.gateway.transport.ports import ListenerStats
from tidings.platform.telemetry.metrics import Metrics
from tidings_wire.frames.registry import REQUESTS

_CALLED = [kind.name for kind in REQUESTS]


@final
class SocketMetrics:
    """Metrics of answered requests."""

    def __init__(self, metrics: Metrics) -> None:
        labels = {"kind": _CALLED, "outcome": ["ok", "refused"]}
        self._counts = metrics.counters(
            "socket_requests_total", "Answered requests by kind and outcome.", labels
        )
        self._took = metrics.latencies(
            "socket_request_seconds", "Time from a complete frame to its answer.", {"kind": _CALLED}
        )

    def on_answered(self, kind: str, outcome: str, took_s: float) -> None:
        self._counts[kind, outcome].inc()
        self._took[kind].observe(took_s)


def export_gateway(metrics: Metrics, server: GatewayServer) -> None:
    tally, traffic = server.listener.tally, server.traffic
    open_now = metrics.gauge("socket_open", "Open connections.")
    open_now.set_function(lambda: len(server.listener.sockets))
    let_in = metrics.gauge("socket_devices", "Authenticated devices.")
    let_in.set_function(lambda: len(server.hub))
    in_flight = metrics.gauge("socket_requests_in_flight", "Requests in flight.")
    in_flight.set_function(lambda: len(server.requests))
    metrics.counter_callback("socket_accepted_total", "Accepted WebSocket connections.", lambda: tally.opened)
    metrics.counter_callbacks(
        "socket_refused_total", "Refused upgrades by HTTP status.", "status", lambda: _named(tally.refused)
    )
    _export_failures(metrics, tally)
    metrics.counter_callbacks(
        "socket_closes_total", "Closed connections by close code.", "code", lambda: dict(traffic.closes)
    )
    frames = lambda: {"in": traffic.frames_in, "out": traffic.frames_out}  # noqa: E731 - one line says it
    metrics.counter_callbacks("socket_frames_total", "WebSocket messages by direction.", "direction", frames)
    sizes = lambda: {"in": traffic.bytes_in, "out": traffic.bytes_out}  # noqa: E731 - as above
    metrics.counter_callbacks(
        "socket_bytes_total", "Bytes of WebSocket messages by direction.", "direction", sizes
    )
    export_node(metrics, server.node)


def _export_failures(metrics: Metrics, tally: ListenerStats) -> None:
    metrics.counter_callback(
        "socket_handshakes_failed_total",
        "Connections that ended before their request, including failed TLS handshakes.",
        lambda: tally.handshakes_failed,
    )
    metrics.counter_callback(
        "socket_handshakes_dropped_total",
        "Connections dropped before their upgrade to make room for newer ones.",
        lambda: tally.handshakes_dropped,
    )
    metrics.counter_callback(
        "socket_slow_consumers_total",
        "Connections that were closed because the device read too slowly.",
        lambda: tally.too_slow,
    )
    metrics.counter_callback(
        "socket_internal_errors_total",
        "Internal errors in the handling of a connection.",
        lambda: tally.receiver_faults,
    )


def export_node(metrics: Metrics, node: GatewayNode) -> None:
    counts = node.counts
    metrics.counter_callbacks(
        "gateway_pushes_total",
        "Pushes from the bus (`received`) and their result for each device: sent, deferred during a resume, duplicate, after a gap, or undelivered because the device is not connected.",
        "what",
        lambda: {
            "received": counts.pushes,
            "sent": counts.entries,
            "deferred": counts.deferred,
            "duplicate": counts.old,
            "gap": counts.gaps,
            "undelivered": counts.undelivered,
        },
    )
    metrics.counter_callbacks(
        "gateway_resumes_total",
        "Resumes of devices: after connecting (`initial`), after possibly missed pushes (`repeated`), and failed ones.",
        "what",
        lambda: {
            "initial": counts.resumes,
            "repeated": counts.resume_retries,
            "failed": counts.resumes_failed,
        },
    )
    metrics.counter_callback(
        "gateway_ranges_total", "Ranges of a chat's log that were read for a device.", lambda: counts.ranges
    )
    _export_rows(metrics, node)
    rooms = metrics.gauge("gateway_large_chats", "Large chats whose channel this gateway is subscribed to.")
    rooms.set_function(lambda: len(node.large_chats))
    _export_ephemeral(metrics, node.ephemeral)
    broadcasts = node.inboxes.broadcasts
    metrics.counter_callback(
        "gateway_broadcast_pushes_total", "Pushes of broadcasts to devices.", lambda: broadcasts.pushes
    )
    waiting = metrics.gauge("gateway_resumes_pending", "Connected devices that wait to resume again.")
    waiting.set_function(lambda: len(node.resuming))


def _export_rows(metrics: Metrics, node: GatewayNode) -> None:
    metrics.counter_callback(
        "gateway_chat_rows_total", "Chat rows that were pushed to devices.", lambda: node.chat_rows.pushed
    )
    metrics.counter_callback(
        "gateway_quiet_rows_total",
        "Chat rows that became a copy of the head of a group without recent entries.",
        lambda: node.quiet_rows.copied,
    )


def _export_ephemeral(metrics: Metrics, ephemeral: EphemeralService) -> None:
    counts = ephemeral.counts
    metrics.counter_callbacks(
        "gateway_ephemeral_frames_total",
        "Frames with ephemeral events, one for each device. `own_read`: read watermarks for the user's other devices.",
        "kind",
        lambda: {
            "receipts": counts.receipts,
            "typing": counts.typing,
            "presence": counts.presence,
            "own_read": counts.own_reads,
        },
    )
    metrics.counter_callbacks(
        "gateway_ephemeral_reads_total",
        "Complete receipt states that were read, presence look-ups of users, and messages that Redis did not accept.",
        "what",
        lambda: {"snapshot": counts.states, "presence": counts.subscriptions, "dropped": counts.lost},
    )
    channels = metrics.gauges(
        "gateway_ephemeral_channels",
        "Channels of ephemeral events that this gateway is subscribed to.",
        {"kind": ("chat", "presence")},
    )
    channels["chat"].set_function(lambda: len(ephemeral.chats.channels))
    channels["presence"].set_function(lambda: len(ephemeral.presence_subscriptions.channels))


def _named(refused: Mapping[int, int]) -> dict[str, float]:
    return {str(status): count for status, count in dict(refused).items()}
