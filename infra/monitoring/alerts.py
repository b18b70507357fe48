"""The alerts of Prometheus. `page`: users notice, act now. `ticket`: act within a working day."""

from typing import Final

from infra.monitoring.model import Alert, Case
from infra.monitoring.webhooks import WEBHOOK_ALERTS

_MINUTES_15 = 60
"""Samples of 15 minutes, one each 15 s."""


def _constant(value: float) -> str:
    return f"{value}x{_MINUTES_15}"


def _rising(step: float) -> str:
    return f"0+{step}x{_MINUTES_15}"


def _latency(metric: str, labels: str, slow: int) -> dict[str, str]:
    """Return buckets in which `slow` of 100 observations are longer than 5 s."""
    given = f"{labels}, " if labels else ""
    bounds = {"0.1": 100 - slow, "5": 100 - slow, "10": 100, "+Inf": 100}
    return {f'{metric}_bucket{{{given}le="{bound}"}}': _rising(step) for bound, step in bounds.items()}


_API = 'job="tidings", process="api", instance="api-1"'
_READY = f"tidings_process_ready{{{_API}}}"
_UP = f"up{{{_API}}}"
_OF_API = {"job": "tidings", "process": "api", "instance": "api-1"}

AVAILABILITY: Final = (
    Alert(
        name="TidingsProcessDown",
        expr='up{job="tidings"} == 0',
        wait="1m",
        severity="page",
        summary="{{ $labels.instance }} does not answer Prometheus.",
        fault="relay killed",
        cases=[Case(series={_UP: _constant(0)}, labels=_OF_API), Case(series={_UP: _constant(1)})],
    ),
    Alert(
        name="TidingsProcessNotReady",
        expr="tidings_process_ready == 0",
        wait="2m",
        severity="page",
        summary="{{ $labels.instance }} is not ready and receives no traffic.",
        fault="Kafka frozen",
        cases=[Case(series={_READY: _constant(0)}, labels=_OF_API), Case(series={_READY: _constant(1)})],
    ),
    Alert(
        name="TidingsEventLoopSlow",
        expr="histogram_quantile(0.99, sum by (process, le) (rate(tidings_loop_lag_seconds_bucket[5m]))) > 0.5",
        wait="5m",
        severity="ticket",
        summary="The event loop of {{ $labels.process }} is late: its CPU core is fully used.",
        fault="gateway stalls",
        cases=[
            Case(
                series=_latency("tidings_loop_lag_seconds", 'process="gateway"', 5),
                labels={"process": "gateway"},
            ),
            Case(series=_latency("tidings_loop_lag_seconds", 'process="gateway"', 0)),
        ],
    ),
)

_FAILED, _OK = (f'tidings_http_requests_total{{outcome="{outcome}"}}' for outcome in ("failed", "ok"))
EDGES: Final = (
    Alert(
        name="TidingsApiErrors",
        expr='sum(rate(tidings_http_requests_total{outcome="failed"}[5m]))'
        " / sum(rate(tidings_http_requests_total[5m])) > 0.02",
        wait="2m",
        severity="page",
        summary="{{ $value | humanizePercentage }} of the API's answers are errors of the server.",
        fault="DynamoDB throttles",
        process="api",
        cases=[
            Case(series={_FAILED: _rising(5), _OK: _rising(95)}, labels={}),
            Case(series={_FAILED: _rising(1), _OK: _rising(99)}),
        ],
    ),
    Alert(
        name="TidingsSendSlow",
        expr="histogram_quantile(0.99,"
        ' sum by (le) (rate(tidings_socket_request_seconds_bucket{kind="send"}[5m]))) > 1',
        wait="5m",
        severity="page",
        summary="1 of 100 messages waits {{ $value | humanizeDuration }} for its acknowledgement.",
        fault="DynamoDB slow",
        cases=[
            Case(series=_latency("tidings_socket_request_seconds", 'kind="send"', 5), labels={}),
            Case(series=_latency("tidings_socket_request_seconds", 'kind="send"', 0)),
        ],
    ),
    Alert(
        name="TidingsConnectionsRefused",
        expr='sum(rate(tidings_socket_refused_total{status="503"}[5m])) > 1',
        wait="5m",
        severity="page",
        summary="Gateways refuse {{ $value | humanize }} connections per second: they are full.",
        fault="gateways full",
        cases=[
            Case(series={'tidings_socket_refused_total{status="503"}': _rising(150)}, labels={}),
            Case(series={'tidings_socket_refused_total{status="403"}': _rising(150)}),
        ],
    ),
    Alert(
        name="TidingsInternalErrors",
        expr="sum(increase(tidings_socket_internal_errors_total[15m])) > 0",
        wait="0m",
        severity="ticket",
        summary="The handling of a connection failed with an internal error.",
        fault="DynamoDB throttles",
        is_raised=False,
        cases=[
            Case(series={"tidings_socket_internal_errors_total": "0x30 1x30"}, labels={}),
            Case(series={"tidings_socket_internal_errors_total": _constant(1)}),
        ],
    ),
)

DELIVERY: Final = (
    Alert(
        name="TidingsCommitsUnhandled",
        expr="max(tidings_relay_unhandled_seconds) > 60",
        wait="1m",
        severity="page",
        summary="A message has waited {{ $value | humanizeDuration }} for its delivery.",
        fault="delivery killed",
        process="relay",
        cases=[
            Case(series={"tidings_relay_unhandled_seconds": _rising(15)}, labels={}),
            Case(series={"tidings_relay_unhandled_seconds": _constant(20)}),
        ],
    ),
    Alert(
        name="TidingsDeliveryPaused",
        expr="max by (instance) (tidings_delivery_paused_partitions) > 0",
        wait="2m",
        severity="page",
        summary="A delivery worker has paused partitions: something that it needs fails.",
        fault="DynamoDB throttles",
        process="delivery",
        cases=[
            Case(
                series={'tidings_delivery_paused_partitions{instance="delivery-1"}': _constant(2)},
                labels={"instance": "delivery-1"},
            ),
            Case(series={'tidings_delivery_paused_partitions{instance="delivery-1"}': _constant(0)}),
        ],
    ),
    Alert(
        name="TidingsDeliverySlow",
        expr="histogram_quantile(0.99, sum by (le) (rate(tidings_delivery_seconds_bucket[5m]))) > 5",
        wait="5m",
        severity="page",
        summary="1 of 100 messages is delivered {{ $value | humanizeDuration }} after its commit.",
        fault="Kafka frozen",
        process="delivery",
        cases=[
            Case(series=_latency("tidings_delivery_seconds", "", 5), labels={}),
            Case(series=_latency("tidings_delivery_seconds", "", 0)),
        ],
    ),
    Alert(
        name="TidingsRelayStopped",
        expr="sum(tidings_relay_shards) < 1 or absent(tidings_relay_shards)",
        wait="2m",
        severity="page",
        summary="No relay reads the stream. Commits that were not published are not repaired.",
        fault="relay killed",
        cases=[
            Case(series={"tidings_relay_shards": _constant(0)}, labels={}),
            Case(series={_READY: _constant(1)}, labels={}),
            Case(series={"tidings_relay_shards": _constant(3)}),
        ],
    ),
    Alert(
        name="TidingsRelayBehind",
        expr="max(tidings_relay_lag_seconds) > 3600",
        wait="10m",
        severity="ticket",
        summary="The relay is {{ $value | humanizeDuration }} behind. The stream keeps 24 hours.",
        fault="delivery killed",
        process="relay",
        is_raised=False,
        cases=[
            Case(series={"tidings_relay_lag_seconds": _constant(4000)}, labels={}),
            Case(series={"tidings_relay_lag_seconds": _constant(60)}),
        ],
    ),
    Alert(
        name="TidingsCommitsLost",
        expr='sum(increase(tidings_relay_commits_total{outcome="abandoned"}[1h])) > 0'
        " or sum(increase(tidings_relay_trimmed_total[1h])) > 0",
        wait="0m",
        severity="page",
        summary="The relay gave up commits, or records left the stream before it read them.",
        fault="delivery killed",
        process="relay",
        is_raised=False,
        cases=[
            Case(series={'tidings_relay_commits_total{outcome="abandoned"}': "0x30 1x30"}, labels={}),
            Case(series={"tidings_relay_trimmed_total": "0x30 1x30"}, labels={}),
            Case(series={'tidings_relay_commits_total{outcome="republished"}': _rising(1)}),
        ],
    ),
    Alert(
        name="TidingsChatLogLarge",
        expr="max(tidings_relay_largest_log_bytes) > 8e9",
        wait="0m",
        severity="ticket",
        summary="The log of a chat has an estimated {{ $value | humanize1024 }}B.",
        fault="delivery killed",
        process="relay",
        is_raised=False,
        cases=[
            Case(series={"tidings_relay_largest_log_bytes": _constant(9e9)}, labels={}),
            Case(series={"tidings_relay_largest_log_bytes": _constant(1e9)}),
        ],
    ),
    Alert(
        name="TidingsNotificationsPaused",
        expr="max by (instance) (tidings_notifications_paused_partitions) > 0",
        wait="2m",
        severity="page",
        summary="A notification worker has paused partitions: something that it needs fails.",
        fault="DynamoDB throttles",
        process="notifications",
        is_raised=False,
        cases=[
            Case(
                series={'tidings_notifications_paused_partitions{instance="n-1"}': _constant(1)},
                labels={"instance": "n-1"},
            ),
            Case(series={'tidings_notifications_paused_partitions{instance="n-1"}': _constant(0)}),
        ],
    ),
)

_LOCAL, _ALLOWED = (
    f'tidings_rate_limit_decisions_total{{outcome="{outcome}"}}' for outcome in ("local", "allowed")
)
_THROTTLED = 'tidings_dynamo_errors_total{error="ThrottledError"}'
ENGINES: Final = (
    Alert(
        name="TidingsDynamoThrottled",
        expr='sum(rate(tidings_dynamo_errors_total{error="ThrottledError"}[5m])) > 1',
        wait="2m",
        severity="page",
        summary="DynamoDB refuses {{ $value | humanize }} calls per second.",
        fault="DynamoDB throttles",
        process="delivery",
        cases=[
            Case(series={_THROTTLED: _rising(150)}, labels={}),
            Case(series={_THROTTLED: _rising(1)}),
        ],
    ),
    Alert(
        name="TidingsDynamoSlow",
        expr="histogram_quantile(0.99, sum by (table, operation, le)"
        " (rate(tidings_dynamo_call_seconds_bucket[5m]))) > 0.5",
        wait="5m",
        severity="ticket",
        summary="{{ $labels.operation }} on {{ $labels.table }} takes {{ $value | humanizeDuration }}.",
        fault="DynamoDB slow",
        cases=[
            Case(
                series=_latency("tidings_dynamo_call_seconds", 'table="messages", operation="PutItem"', 5),
                labels={"table": "messages", "operation": "PutItem"},
            ),
            Case(series=_latency("tidings_dynamo_call_seconds", 'table="messages", operation="PutItem"', 0)),
        ],
    ),
    Alert(
        name="TidingsKafkaNotAcknowledging",
        expr='sum(rate(tidings_events_published_total{outcome="failed"}[5m])) > 0.1',
        wait="2m",
        severity="page",
        summary="Kafka does not acknowledge events. The relay publishes them later.",
        fault="Kafka frozen",
        cases=[
            Case(series={'tidings_events_published_total{outcome="failed"}': _rising(30)}, labels={}),
            Case(series={'tidings_events_published_total{outcome="ok"}': _rising(30)}),
        ],
    ),
    Alert(
        name="TidingsRedisUnavailable",
        expr='sum(rate(tidings_rate_limit_decisions_total{outcome="local"}[5m]))'
        " / sum(rate(tidings_rate_limit_decisions_total[5m])) > 0.2",
        wait="2m",
        severity="page",
        summary="Redis does not answer: pushes are deferred and rate limits are counted by each process.",
        fault="Redis frozen",
        cases=[
            Case(series={_LOCAL: _rising(30), _ALLOWED: _rising(30)}, labels={}),
            Case(series={_LOCAL: _rising(1), _ALLOWED: _rising(30)}),
        ],
    ),
)

ALERTS: Final = {
    "availability": AVAILABILITY,
    "edges": EDGES,
    "delivery": DELIVERY,
    "webhooks": WEBHOOK_ALERTS,
    "engines": ENGINES,
}
"""Alerts by the name of their group."""
