"""The dashboards of Grafana: an overview with the golden signals, and one for each part."""

from typing import Final

from infra.monitoring.expressions import percentiles, quantile, rate
from infra.monitoring.model import RATE_INTERVAL, Dashboard, Panel, Query
from infra.monitoring.webhooks import WEBHOOK_DASHBOARD

_FAILED_SHARE = (
    f"({rate('tidings_http_requests_total', where='outcome="failed"')} or vector(0))"
    f" / {rate('tidings_http_requests_total')}"
)
_CPU = f"rate(process_cpu_seconds_total[{RATE_INTERVAL}])"

OVERVIEW: Final = Dashboard(
    name="overview",
    title="Tidings: overview",
    panels=[
        Panel(
            title="Latency: send to acknowledgement",
            unit="s",
            queries=percentiles("tidings_socket_request_seconds", 'kind="send"'),
            help="Duration of `send` at the gateways. An acknowledged message is stored.",
        ),
        Panel(
            title="Latency: commit to delivery",
            unit="s",
            queries=percentiles("tidings_delivery_seconds"),
            help="From the commit of a message until a delivery worker handled it.",
        ),
        Panel(
            title="Traffic: requests",
            unit="reqps",
            queries=[
                Query(rate("tidings_socket_requests_total"), "WebSocket"),
                Query(rate("tidings_http_requests_total"), "REST"),
            ],
        ),
        Panel(
            title="Traffic: connected devices",
            queries=[Query("sum(tidings_socket_devices)", "devices")],
        ),
        Panel(
            title="Errors: share of failed requests",
            unit="percentunit",
            queries=[Query(_FAILED_SHARE, "REST, 5xx")],
            help="The API's share of answers with status 5xx.",
        ),
        Panel(
            title="Errors: components with a problem",
            queries=[Query("count by (component) (tidings_component_ok == 0) or vector(0)", "{{component}}")],
            help="A component with a problem makes its process unready. `/readyz` gives the reason.",
        ),
        Panel(
            title="Saturation: CPU of each process",
            queries=[Query(_CPU, "{{instance}}")],
            help="A process uses at most about one core. Add processes before it reaches 0.8.",
        ),
        Panel(
            title="Saturation: event loop delay, p99",
            unit="s",
            queries=[Query(quantile(0.99, "tidings_loop_lag_seconds", "process"), "{{process}}")],
            help="The first sign that a CPU core is fully used.",
        ),
        Panel(
            title="Processes: up and ready",
            queries=[
                Query('sum by (process) (up{job="tidings"})', "{{process}} up"),
                Query("sum by (process) (tidings_process_ready)", "{{process}} ready"),
            ],
        ),
        Panel(
            title="Saturation: memory of each process",
            unit="bytes",
            queries=[Query("process_resident_memory_bytes", "{{instance}}")],
        ),
    ],
)

EDGES: Final = Dashboard(
    name="edges",
    title="Tidings: gateway and API",
    panels=[
        Panel(
            title="Open connections",
            queries=[
                Query("tidings_socket_open", "{{instance}} open"),
                Query("tidings_socket_devices", "{{instance}} authenticated"),
            ],
        ),
        Panel(
            title="Accepted and refused connections",
            unit="ops",
            queries=[
                Query(rate("tidings_socket_accepted_total"), "accepted"),
                Query(f"{rate('tidings_socket_refused_total', 'status')} or vector(0)", "refused {{status}}"),
            ],
        ),
        Panel(
            title="Closed connections by code",
            unit="ops",
            queries=[Query(rate("tidings_socket_closes_total", "code"), "{{code}}")],
        ),
        Panel(
            title="WebSocket requests by kind",
            unit="reqps",
            queries=[Query(rate("tidings_socket_requests_total", "kind"), "{{kind}}")],
        ),
        Panel(
            title="Duration of WebSocket requests, p99",
            unit="s",
            queries=[Query(quantile(0.99, "tidings_socket_request_seconds", "kind"), "{{kind}}")],
        ),
        Panel(
            title="Frames",
            unit="ops",
            queries=[Query(rate("tidings_socket_frames_total", "direction"), "{{direction}}")],
        ),
        Panel(
            title="Bytes",
            unit="Bps",
            queries=[Query(rate("tidings_socket_bytes_total", "direction"), "{{direction}}")],
        ),
        Panel(
            title="Resumes of devices",
            unit="ops",
            queries=[Query(rate("tidings_gateway_resumes_total", "what"), "{{what}}")],
        ),
        Panel(
            title="REST requests by operation",
            unit="reqps",
            queries=[Query(rate("tidings_http_requests_total", "operation"), "{{operation}}")],
        ),
        Panel(
            title="Duration of REST requests, p99",
            unit="s",
            queries=[Query(quantile(0.99, "tidings_http_request_seconds", "operation"), "{{operation}}")],
        ),
        Panel(
            title="REST answers by status",
            unit="reqps",
            queries=[Query(rate("tidings_http_statuses_total", "status"), "{{status}}")],
        ),
        Panel(
            title="Rate limits",
            unit="ops",
            queries=[Query(rate("tidings_rate_limit_decisions_total", "outcome"), "{{outcome}}")],
            help="`local`: decided by one process, because Redis did not answer.",
        ),
    ],
)

DELIVERY: Final = Dashboard(
    name="delivery",
    title="Tidings: delivery and relay",
    panels=[
        Panel(
            title="Records that wait in Kafka",
            queries=[Query("sum(tidings_delivery_lag_records)", "delivery")],
        ),
        Panel(
            title="Commit to delivery",
            unit="s",
            queries=percentiles("tidings_delivery_seconds"),
        ),
        Panel(
            title="Work of the delivery workers",
            unit="ops",
            queries=[Query(rate("tidings_delivery_total", "what"), "{{what}}")],
        ),
        Panel(
            title="Paused partitions",
            queries=[Query("sum(tidings_delivery_paused_partitions)", "delivery")],
            help="A partition pauses while something that it needs fails.",
        ),
        Panel(
            title="Pushes at the gateways",
            unit="ops",
            queries=[Query(rate("tidings_gateway_pushes_total", "what"), "{{what}}")],
        ),
        Panel(
            title="Events published to Kafka",
            unit="ops",
            queries=[Query(rate("tidings_events_published_total", "outcome"), "{{outcome}}")],
            help="Events that Kafka did not acknowledge are published by the relay.",
        ),
        Panel(
            title="Oldest unhandled commit",
            unit="s",
            queries=[Query("max(tidings_relay_unhandled_seconds)", "age")],
        ),
        Panel(
            title="Commits that the relay checked",
            unit="ops",
            queries=[Query(rate("tidings_relay_commits_total", "outcome"), "{{outcome}}")],
        ),
        Panel(
            title="Relay: delay and shards",
            queries=[
                Query("max(tidings_relay_lag_seconds)", "delay in s"),
                Query("sum(tidings_relay_shards)", "shards"),
            ],
        ),
        Panel(
            title="Receipts",
            unit="ops",
            queries=[Query(rate("tidings_receipts_total", "what"), "{{what}}")],
        ),
        Panel(
            title="Ephemeral events to devices",
            unit="ops",
            queries=[Query(rate("tidings_gateway_ephemeral_frames_total", "kind"), "{{kind}}")],
        ),
        Panel(
            title="Largest chat log",
            unit="bytes",
            queries=[Query("max(tidings_relay_largest_log_bytes)", "estimated")],
        ),
    ],
)

DYNAMODB: Final = Dashboard(
    name="dynamodb",
    title="Tidings: DynamoDB",
    panels=[
        Panel(
            title="Latency by table, p99",
            unit="s",
            queries=[Query(quantile(0.99, "tidings_dynamo_call_seconds", "table"), "{{table}}")],
            help="With retries and the wait for a connection.",
        ),
        Panel(
            title="Latency by operation, p99",
            unit="s",
            queries=[Query(quantile(0.99, "tidings_dynamo_call_seconds", "operation"), "{{operation}}")],
        ),
        Panel(
            title="Calls by table",
            unit="ops",
            queries=[Query(rate("tidings_dynamo_calls_total", "table"), "{{table}}")],
        ),
        Panel(
            title="Errors",
            unit="ops",
            queries=[Query(rate("tidings_dynamo_errors_total", "error"), "{{error}}")],
            help="A failed condition is an expected answer. Throttling is not.",
        ),
        Panel(
            title="Read units by table",
            queries=[Query(rate("tidings_dynamo_read_units_total", "table"), "{{table}}")],
        ),
        Panel(
            title="Write units by table",
            queries=[Query(rate("tidings_dynamo_write_units_total", "table"), "{{table}}")],
        ),
        Panel(
            title="Units of the most used partition",
            queries=[
                Query(
                    rate("tidings_dynamo_hottest_partition_units_total", "table, kind"), "{{table}} {{kind}}"
                )
            ],
            help="From a sample, summed over processes. DynamoDB throttles a partition above 1,000 write or 3,000 read"
            " units a second.",
        ),
        Panel(
            title="Most used access patterns",
            unit="ops",
            queries=[Query(f"topk(10, {rate('tidings_dynamo_calls_total', 'pattern')})", "{{pattern}}")],
        ),
        Panel(
            title="Retries by table",
            unit="ops",
            queries=[Query(rate("tidings_dynamo_retries_total", "table"), "{{table}}")],
        ),
    ],
)

_INBOX = 'operation=~".*(inbox|notifications|broadcasts|jobs|segments).*"'
INBOXES: Final = Dashboard(
    name="inboxes",
    title="Tidings: inboxes and jobs",
    panels=[
        Panel(
            title="Chunks that wait in Kafka",
            queries=[Query("sum(tidings_notifications_lag_chunks)", "chunks")],
        ),
        Panel(
            title="Paused partitions",
            queries=[Query("sum(tidings_notifications_paused_partitions)", "notifications")],
        ),
        Panel(
            title="REST requests of inboxes",
            unit="reqps",
            queries=[
                Query(rate("tidings_http_requests_total", "operation", _INBOX), "{{operation}}"),
            ],
        ),
        Panel(
            title="Duration of REST requests of inboxes, p99",
            unit="s",
            queries=[
                Query(quantile(0.99, "tidings_http_request_seconds", "operation", _INBOX), "{{operation}}")
            ],
        ),
        Panel(
            title="Write units of the workers",
            queries=[
                Query(
                    rate("tidings_dynamo_write_units_total", "pattern", 'process="notifications"'),
                    "{{pattern}}",
                )
            ],
        ),
        Panel(
            title="Pushes of broadcasts",
            unit="ops",
            queries=[Query(rate("tidings_gateway_broadcast_pushes_total"), "pushes")],
        ),
    ],
)

DASHBOARDS: Final = (OVERVIEW, EDGES, DELIVERY, DYNAMODB, INBOXES, WEBHOOK_DASHBOARD)
