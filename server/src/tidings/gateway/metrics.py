"""What goes on at the gateway's sockets, as metrics. Most are plain numbers that are read when somebody scrapes."""

from collections.abc import Mapping
from typing import final

from tidings.gateway.ephemeral.service import EphemeralService
from tidings.gateway.node import GatewayNode
from tidings.gateway.server import GatewayServer
from tidings.platform.telemetry.metrics import Metrics
from tidings_wire.frames.registry import REQUESTS

_CALLED = [kind.name for kind in REQUESTS]


@final
class SocketMetrics:
    """Fits the gateway's port `Measure`."""

    def __init__(self, metrics: Metrics) -> None:
        labels = {"kind": _CALLED, "outcome": ["ok", "refused"]}
        self._counts = metrics.counters("socket_calls_total", "Requests that were answered, by kind.", labels)
        self._took = metrics.latencies(
            "socket_call_seconds", "From a whole frame to its answer.", {"kind": _CALLED}
        )

    def called(self, kind: str, took_s: float, *, is_ok: bool) -> None:
        self._counts[kind, "ok" if is_ok else "refused"].inc()
        self._took[kind].observe(took_s)


def export_gateway(metrics: Metrics, server: GatewayServer) -> None:
    tally, traffic = server.listener.tally, server.traffic
    open_now = metrics.gauge("socket_open", "Connections that are open.")
    open_now.set_function(lambda: len(server.listener.sockets))
    let_in = metrics.gauge("socket_devices", "Devices that are let in.")
    let_in.set_function(lambda: len(server.hub))
    in_flight = metrics.gauge("socket_calls_in_flight", "Requests that are being answered.")
    in_flight.set_function(lambda: len(server.calls))
    metrics.counter_callback(
        "socket_accepts_total", "Connections that became WebSockets.", lambda: tally.opened
    )
    metrics.counter_callbacks(
        "socket_refusals_total", "Upgrades refused.", "status", lambda: _named(tally.refused)
    )
    metrics.counter_callback(
        "socket_handshakes_failed_total",
        "Connections that ended before a request, TLS included.",
        lambda: tally.handshakes_failed,
    )
    metrics.counter_callback(
        "socket_handshakes_dropped_total",
        "Connections dropped before their upgrade to make room for newer ones.",
        lambda: tally.handshakes_dropped,
    )
    metrics.counter_callback("socket_slow_total", "Devices that read too slowly.", lambda: tally.too_slow)
    metrics.counter_callback(
        "socket_faults_total", "Mistakes of ours on a connection.", lambda: tally.receiver_faults
    )
    metrics.counter_callbacks(
        "socket_closes_total", "Ends, by close code.", "code", lambda: dict(traffic.closes)
    )
    frames = lambda: {"in": traffic.frames_in, "out": traffic.frames_out}  # noqa: E731 - one line says it
    metrics.counter_callbacks("socket_frames_total", "Messages.", "way", frames)
    sizes = lambda: {"in": traffic.bytes_in, "out": traffic.bytes_out}  # noqa: E731 - as above
    metrics.counter_callbacks("socket_bytes_total", "Bytes of messages.", "way", sizes)
    if server.node is not None:
        export_routed(metrics, server.node)


def export_routed(metrics: Metrics, routed: GatewayNode) -> None:
    counts = routed.counts
    metrics.counter_callbacks(
        "gateway_pushes_total",
        "Pushes that were heard, and for devices: entries sent, held while one resumes, had before, ahead of a hole.",
        "what",
        lambda: {
            "heard": counts.pushes,
            "sent": counts.entries,
            "held": counts.deferred,
            "old": counts.old,
            "gap": counts.gaps,
            "away": counts.undelivered,
        },
    )
    metrics.counter_callbacks(
        "gateway_resumes_total",
        "Devices that were given what they missed, after connecting and later on.",
        "what",
        lambda: {"first": counts.resumes, "again": counts.resume_retries, "failed": counts.resumes_failed},
    )
    metrics.counter_callback(
        "gateway_ranges_total", "Ranges read from a log for a device.", lambda: counts.ranges
    )
    metrics.counter_callback(
        "gateway_chat_rows_total", "Chat-list rows pushed to devices.", lambda: routed.chat_rows.pushed
    )
    rooms = metrics.gauge("gateway_large_chats", "Large chats that are listened to.")
    rooms.set_function(lambda: len(routed.large_chats))
    _export_signs(metrics, routed.ephemeral)
    broadcasts = routed.inboxes.broadcasts
    metrics.counter_callback(
        "gateway_broadcast_pushes_total", "Devices told of a broadcast.", lambda: broadcasts.pushes
    )
    waiting = metrics.gauge("gateway_resumes_waiting", "Devices here that are to resume again.")
    waiting.set_function(lambda: len(routed.resuming))


def _export_signs(metrics: Metrics, ephemeral: EphemeralService) -> None:
    counts = ephemeral.counts
    metrics.counter_callbacks(
        "gateway_sign_frames_total",
        "Frames of signs, one for each device that got it; `own_read`: to the user's other devices.",
        "kind",
        lambda: {
            "receipts": counts.receipts,
            "typing": counts.typing,
            "presence": counts.presence,
            "own_read": counts.own_reads,
        },
    )
    metrics.counter_callbacks(
        "gateway_sign_reads_total",
        "Whole states that were read, users whose presence was looked up, and words that Redis did not take.",
        "what",
        lambda: {"state": counts.states, "look": counts.subscriptions, "lost": counts.lost},
    )
    channels = metrics.gauges(
        "gateway_sign_channels", "Channels that are listened to.", {"kind": ("signs", "presence")}
    )
    channels["signs"].set_function(lambda: len(ephemeral.chats.channels))
    channels["presence"].set_function(lambda: len(ephemeral.presence_subscriptions.channels))


def _named(refused: Mapping[int, int]) -> dict[str, float]:
    return {str(status): count for status, count in dict(refused).items()}
