"""Alerts and the dashboard of webhooks, push notifications and attachments, and the alert of search."""

from typing import Final

from infra.monitoring.expressions import rate
from infra.monitoring.model import Alert, Case, Dashboard, Panel, Query


def _deliveries(what: str) -> str:
    return f'tidings_webhook_deliveries_total{{what="{what}"}}'


_RATES = {what: f"sum(rate({_deliveries(what)}[15m]))" for what in ("failed", "delivered")}

WEBHOOK_ALERTS: Final = (
    Alert(
        name="TidingsWebhooksPaused",
        expr="max by (instance) (tidings_webhooks_paused_partitions) > 0",
        wait="2m",
        severity="page",
        summary="A webhook worker has paused partitions: something that it needs fails.",
        fault="DynamoDB throttles",
        process="webhooks",
        is_raised=False,
        cases=[
            Case(
                series={'tidings_webhooks_paused_partitions{instance="w-1"}': "1x60"},
                labels={"instance": "w-1"},
            ),
            Case(series={'tidings_webhooks_paused_partitions{instance="w-1"}': "0x60"}),
        ],
    ),
    Alert(
        name="TidingsSearchBehind",
        expr="sum(tidings_search_lag_records) > 10000 or max(tidings_search_paused_partitions) > 0",
        wait="10m",
        severity="ticket",
        summary="New messages are not found: the search index is behind the log.",
        fault="DynamoDB throttles",
        process="search",
        is_raised=False,
        cases=[
            Case(series={"tidings_search_lag_records": "20000x120"}, at="25m", labels={}),
            Case(series={"tidings_search_paused_partitions": "1x120"}, at="25m", labels={}),
            Case(
                series={"tidings_search_lag_records": "100x120", "tidings_search_paused_partitions": "0x120"},
                at="25m",
            ),
        ],
    ),
    Alert(
        name="TidingsSearchPurgeLate",
        expr="max(tidings_search_purge_age_seconds) > 86400",
        wait="10m",
        severity="ticket",
        summary="The search index was not purged for a day: its files have words of deleted messages.",
        fault="DynamoDB throttles",
        process="search",
        is_raised=False,
        cases=[
            Case(series={"tidings_search_purge_age_seconds": "90000x120"}, at="25m", labels={}),
            Case(series={"tidings_search_purge_age_seconds": "43000x120"}, at="25m"),
        ],
    ),
    Alert(
        name="TidingsMediaBehind",
        expr="sum(tidings_media_lag_tasks) > 1000 or max(tidings_media_paused_partitions) > 0",
        wait="10m",
        severity="ticket",
        summary="Attachments wait: recipients cannot download new files, and redacted files are not deleted.",
        fault="DynamoDB throttles",
        process="media",
        is_raised=False,
        cases=[
            Case(series={"tidings_media_lag_tasks": "2000x120"}, at="25m", labels={}),
            Case(series={"tidings_media_paused_partitions": "1x120"}, at="25m", labels={}),
            Case(
                series={"tidings_media_lag_tasks": "10x120", "tidings_media_paused_partitions": "0x120"},
                at="25m",
            ),
        ],
    ),
    Alert(
        name="TidingsWebhookAttemptsFail",
        expr=f"{_RATES['failed']} / ({_RATES['failed']} + {_RATES['delivered']}) > 0.5",
        wait="10m",
        severity="ticket",
        summary="{{ $value | humanizePercentage }} of the requests to webhook endpoints fail.",
        fault="receivers fail",
        process="webhooks",
        cases=[
            Case(
                series={_deliveries("failed"): "0+6x120", _deliveries("delivered"): "0+4x120"},
                at="25m",
                labels={},
            ),
            Case(series={_deliveries("failed"): "0+1x120", _deliveries("delivered"): "0+4x120"}, at="25m"),
        ],
    ),
    Alert(
        name="TidingsWebhookEventsDropped",
        expr='sum(increase(tidings_webhook_deliveries_total{what=~"disabled|given_up"}[1h])) > 0',
        wait="0m",
        severity="ticket",
        summary="A webhook endpoint was disabled, or events were given up after three days.",
        fault="receivers fail",
        process="webhooks",
        cases=[
            Case(series={_deliveries("disabled"): "0x30 1x30"}, labels={}),
            Case(series={_deliveries("given_up"): "0x30 1x30"}, labels={}),
            Case(series={_deliveries("failed"): "0+1x60"}),
        ],
    ),
    Alert(
        name="TidingsPushProviderFails",
        expr="max(tidings_push_failing_providers) > 0",
        wait="5m",
        severity="ticket",
        summary="{{ $value }} push providers do not answer. Their notifications are sent late, or not at all.",
        fault="receivers fail",
        process="push",
        cases=[
            Case(series={"tidings_push_failing_providers": "1x60"}, labels={}),
            Case(series={"tidings_push_failing_providers": "0x60"}),
        ],
    ),
)

WEBHOOK_DASHBOARD: Final = Dashboard(
    name="webhooks",
    title="Tidings: webhooks, push and attachments",
    panels=[
        Panel(
            title="Webhooks: attempts",
            unit="ops",
            queries=[Query(rate("tidings_webhook_deliveries_total", "what"), "{{what}}")],
            help="`queued`: events that an endpoint did not accept at once. `given_up`: not sent again.",
        ),
        Panel(
            title="Webhooks: records that wait in Kafka",
            queries=[Query("sum(tidings_webhooks_lag_records)", "webhooks")],
            help="An endpoint that fails does not add to it: its events are in the queue.",
        ),
        Panel(
            title="Webhooks: endpoints",
            queries=[
                Query("max(tidings_webhook_waiting_endpoints)", "with queued events"),
                Query("max(tidings_webhook_failing_endpoints)", "every attempt fails"),
            ],
        ),
        Panel(
            title="Webhooks: write units",
            queries=[
                Query(
                    rate("tidings_dynamo_write_units_total", "pattern", 'process="webhooks"'), "{{pattern}}"
                )
            ],
        ),
        Panel(
            title="Before-send hooks",
            unit="ops",
            queries=[Query(rate("tidings_before_send_total", "outcome"), "{{outcome}}")],
            help="`failed`: no valid answer in time. The tenant's choice decides about these messages.",
        ),
        Panel(
            title="Push notifications",
            unit="ops",
            queries=[Query(rate("tidings_push_notifications_total", "outcome"), "{{outcome}}")],
        ),
        Panel(
            title="Push: tasks that wait, providers that fail",
            queries=[
                Query("sum(tidings_push_lag_tasks)", "tasks"),
                Query("max(tidings_push_failing_providers)", "providers"),
            ],
        ),
        Panel(
            title="Paused partitions",
            queries=[
                Query("sum(tidings_webhooks_paused_partitions)", "webhooks"),
                Query("sum(tidings_push_paused_partitions)", "push"),
            ],
        ),
        Panel(
            title="Attachments: files",
            unit="ops",
            queries=[Query(rate("tidings_media_files_total", "outcome"), "{{outcome}}")],
            help="`refused`: files that cannot be decoded within the limits, or that are not what they claim to be.",
            is_recorded=False,
        ),
        Panel(
            title="Attachments: files that wait",
            queries=[
                Query("sum(tidings_media_lag_tasks)", "tasks"),
                Query("sum(tidings_media_paused_partitions)", "paused partitions"),
            ],
            help="Recipients cannot download new files until they are processed.",
            is_recorded=False,
        ),
        Panel(
            title="Attachments: corrected by the sweeper",
            unit="ops",
            queries=[
                Query(
                    rate("tidings_media_swept_total", "what", 'what!~"rows|objects"'),
                    "{{what}}",
                )
            ],
            help="`expired` is usual. `missing`: the bucket has lost the file of a row.",
            is_recorded=False,
        ),
        Panel(
            title="Attachments: age of the last sweep",
            unit="s",
            queries=[Query("min(tidings_media_sweep_age_seconds)", "age")],
            help="One worker sweeps at a time, about every hour.",
            is_recorded=False,
        ),
    ],
)
