"""Check webhooks: endpoints that were disabled automatically, and endpoints that fail."""

import asyncio
from collections.abc import Iterator, Sequence

from tidings.app.settings.model import DynamoSettings
from tidings.app.wiring.engine_clients import open_tables
from tidings.doctor.model import CheckState, DoctorContext, Finding, ok, skipped
from tidings.kernel.clock import Clock, format_ms
from tidings.kernel.errors import TidingsError
from tidings.platform.dynamo.errors import DynamoError
from tidings.webhooks.model import Backlog, DisabledEndpoint
from tidings.webhooks.store import DynamoDisabledEndpoints, DynamoWebhookQueue

_MAX_LISTED = 100
_FAILING_MS = 3_600_000


def check_webhooks(context: DoctorContext) -> Iterator[Finding]:
    settings = context.loaded.settings.dynamo
    if settings.endpoint is None:
        yield skipped("webhooks", "needs dynamo.endpoint")
        return
    try:
        disabled, backlogs = asyncio.run(_read(settings, context.clock))
    except (DynamoError, TidingsError) as error:
        yield skipped("webhooks", f"the table cannot be read: {error}")
        return
    yield from find_webhook_problems(disabled, backlogs, context.clock.now_ms())


def find_webhook_problems(
    disabled: Sequence[DisabledEndpoint], backlogs: Sequence[Backlog], now_ms: int
) -> Iterator[Finding]:
    failing = [each for each in backlogs if 0 < each.failing_ms <= now_ms - _FAILING_MS]
    if disabled:
        yield Finding(
            "webhooks",
            CheckState.WARNING,
            f"{len(disabled)} endpoints were disabled automatically",
            "They receive no events until they are enabled.",
            "Repair the endpoint, then `tidings webhook set TENANT ENDPOINT --status enabled` and `tidings webhook replay`.",
            [
                f"{each.endpoint.tenant} {each.endpoint.id} at {format_ms(each.at_ms)}: {each.reason}"
                for each in disabled
            ],
        )
    if failing:
        yield Finding(
            "webhooks",
            CheckState.WARNING,
            f"{len(failing)} endpoints have failed for more than an hour",
            "Their events wait. An endpoint that fails for `webhooks.disable_after_h` is disabled.",
            "`tidings webhook deliveries TENANT ENDPOINT` shows the answers.",
            [
                f"{each.endpoint.tenant} {each.endpoint.id} since {format_ms(each.failing_ms)}"
                for each in failing
            ],
        )
    if not disabled and not failing:
        yield ok("webhooks", f"no endpoint fails; events wait for {len(backlogs)}")


async def _read(
    settings: DynamoSettings, clock: Clock
) -> tuple[Sequence[DisabledEndpoint], Sequence[Backlog]]:
    async with open_tables(settings) as client:
        disabled = await DynamoDisabledEndpoints(client).list(_MAX_LISTED)
        return disabled, await DynamoWebhookQueue(client, clock).backlogs()
