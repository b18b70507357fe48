"""`tidings webhook create | list | show | set | delete | rotate | test | deliveries | queue | retry | replay | before-send`."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Literal

import click

from tidings.app.wiring.webhooks import open_webhook_service
from tidings.cli.output import DURATION, SafeTable, echo, show_wide
from tidings.kernel.clock import format_ms, format_ms_or_none
from tidings.tenants.rules import check_tenant_id
from tidings.webhooks.before_send import BeforeSendService
from tidings.webhooks.model import (
    CHOSEN_TYPES,
    DEFAULT_TYPES,
    Endpoint,
    EndpointId,
    EndpointName,
    EndpointSettings,
    EndpointStatus,
    EventType,
)
from tidings.webhooks.service import OVERLAP_S, WebhookService

_TENANT = click.argument("tenant")
_ENDPOINT = click.argument("endpoint")
_EVENTS = click.option(
    "--event",
    "events",
    multiple=True,
    type=click.Choice([each.value for each in CHOSEN_TYPES]),
    help="An event type to send. Repeatable.",
)
_ONCE = "It is shown only once: save it."


@click.group(name="webhook")
def group() -> None:
    """Webhook endpoints of a tenant: create, change, test, delivery log, retry, replay."""


@group.command()
@_TENANT
@click.argument("url")
@_EVENTS
@click.option("--description", default="", help="A note for people.")
def create(tenant: str, url: str, events: tuple[str, ...], description: str) -> None:
    """Create an endpoint of TENANT and print its secret.

    It receives the events of --event, or all but message.read, push.finished and presence.changed.
    """
    settings = EndpointSettings(url=url, events=_types(events) or DEFAULT_TYPES, description=description)
    made = _run(lambda service: service.create(check_tenant_id(tenant), settings))
    echo(made.secrets[0].value.reveal())
    echo(f"The secret of endpoint {made.name.id} of {tenant}. {_ONCE}", err=True)


@group.command(name="list")
@_TENANT
def list_(tenant: str) -> None:
    """List the endpoints of TENANT."""
    found = _run(lambda service: service.list(check_tenant_id(tenant)))
    table = SafeTable("endpoint", "status", "events", "url", "reason")
    for each in found:
        settings = each.settings
        count = "default" if settings.events == DEFAULT_TYPES else str(len(settings.events))
        table.add_row(each.name.id, settings.status, count, settings.url, settings.disabled_reason or "-")
    show_wide(table)


@group.command()
@_TENANT
@_ENDPOINT
def show(tenant: str, endpoint: str) -> None:
    """Show ENDPOINT, without its secret."""
    _show(_run(lambda service: service.read(_name(tenant, endpoint))))


@group.command(name="set")
@_TENANT
@_ENDPOINT
@click.option("--url", help="A new URL.")
@_EVENTS
@click.option("--description", help="A new note.")
@click.option(
    "--status", type=click.Choice([each.value for each in EndpointStatus]), help="Disable or enable it."
)
def set_(
    tenant: str,
    endpoint: str,
    *,
    url: str | None,
    events: tuple[str, ...],
    description: str | None,
    status: str | None,
) -> None:
    """Change ENDPOINT. Workers use the change within ten seconds."""
    changed = _run(
        lambda service: service.update(
            _name(tenant, endpoint),
            url=url,
            events=_types(events) or None,
            description=description,
            status=None if status is None else EndpointStatus(status),
        )
    )
    _show(changed)


@group.command()
@_TENANT
@_ENDPOINT
def delete(tenant: str, endpoint: str) -> None:
    """Delete ENDPOINT. Events that wait for it are dropped."""
    _run(lambda service: service.delete(_name(tenant, endpoint)))
    echo(f"ok: {endpoint} is deleted")


@group.command()
@_TENANT
@_ENDPOINT
@click.option(
    "--overlap", type=DURATION, default=OVERLAP_S, help="How long the former secret signs too.  [default: 1d]"
)
def rotate(tenant: str, endpoint: str, overlap: int) -> None:
    """Create a new secret of ENDPOINT and print it."""
    rotated = _run(lambda service: service.rotate(_name(tenant, endpoint), overlap))
    echo(rotated.secrets[0].value.reveal())
    echo(f"The new secret of endpoint {endpoint} of {tenant}. {_ONCE}", err=True)


@group.command()
@_TENANT
@_ENDPOINT
def test(tenant: str, endpoint: str) -> None:
    """Send a test event to ENDPOINT, and print its answer."""
    event, attempt = _run(lambda service: service.test(_name(tenant, endpoint)))
    if not attempt.is_ok:
        echo(f"{event.id} was not delivered: {attempt.reason}", err=True)
        raise click.exceptions.Exit(1)
    echo(f"{event.id} was delivered: {attempt.status} after {attempt.latency_ms} ms")


@group.command()
@_TENANT
@_ENDPOINT
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000))
def deliveries(tenant: str, endpoint: str, limit: int) -> None:
    """List the last attempts of ENDPOINT, newest first. They are kept for seven days."""
    page = _run(lambda service: service.deliveries(_name(tenant, endpoint), limit))
    table = SafeTable("at", "event", "type", "attempt", "outcome", "status", "ms", "next", "reason")
    for each in page.deliveries:
        cells = (format_ms(each.at_ms), each.event, each.type.value, str(each.attempt), each.outcome.value)
        answer = (str(each.status or "-"), str(each.latency_ms), format_ms_or_none(each.next_ms) or "-")
        table.add_row(*cells, *answer, each.reason or "-")
    show_wide(table)


@group.command()
@_TENANT
@_ENDPOINT
def queue(tenant: str, endpoint: str) -> None:
    """List what waits for ENDPOINT, and when the next attempt is."""
    waiting = _run(lambda service: service.waiting(_name(tenant, endpoint)))
    table = SafeTable("kind", "chat or id", "first", "last", "attempts", "next", "reason")
    for each in waiting:
        numbers = (str(each.first), str(each.last), str(each.attempts))
        table.add_row(
            each.event_type or each.kind.value, each.key, *numbers, format_ms(each.due_ms), each.reason or "-"
        )
    show_wide(table)


@group.command()
@_TENANT
@_ENDPOINT
def retry(tenant: str, endpoint: str) -> None:
    """Make the next attempt of everything that waits for ENDPOINT now."""
    _run(lambda service: service.retry(_name(tenant, endpoint)))
    echo("ok: workers try again within seconds")


@group.command()
@_TENANT
@_ENDPOINT
@click.option(
    "--since",
    required=True,
    type=click.DateTime(["%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M%z"]),
    help="A time within the last 48 hours, such as 2026-12-01T08:00:00Z.",
)
def replay(tenant: str, endpoint: str, since: datetime) -> None:
    """Send all events since a time to ENDPOINT again. They have the same ids."""
    since_ms = round(since.timestamp() * 1000)
    _run(lambda service: service.replay(_name(tenant, endpoint), since_ms))
    echo(f"ok: workers send the events since {format_ms(since_ms)} again")


@group.group(name="before-send")
def before_send() -> None:
    """Manage the before-send hook of a tenant, which may change or refuse messages."""


@before_send.command(name="set")
@_TENANT
@click.argument("url")
@click.option(
    "--timeout-ms",
    default=1_000,
    show_default=True,
    type=click.IntRange(50, 5_000),
    help="How long a sender waits for the hook.",
)
@click.option(
    "--on-failure",
    default="allow",
    show_default=True,
    type=click.Choice(["allow", "refuse"]),
    help="What happens to a message if the hook does not answer in time.",
)
def hook_set(tenant: str, url: str, timeout_ms: int, on_failure: Literal["allow", "refuse"]) -> None:
    """Create or change the hook of TENANT. Print the secret of a new one."""
    name = check_tenant_id(tenant)
    endpoint, _, is_new = _run_hook(lambda service: service.set(name, url, timeout_ms, on_failure))
    if is_new:
        echo(endpoint.secrets[0].value.reveal())
        echo(f"The secret of the before-send hook of {tenant}. {_ONCE}", err=True)
    else:
        echo("ok: processes use the change within 30 seconds")


@before_send.command(name="show")
@_TENANT
def hook_show(tenant: str) -> None:
    """Show the hook of TENANT, without its secret."""
    name = check_tenant_id(tenant)
    endpoint, hook = _run_hook(lambda service: service.read(name))
    table = SafeTable()
    for label, value in {
        "endpoint": endpoint.name.id,
        "url": endpoint.settings.url,
        "timeout": f"{hook.timeout_ms} ms",
        "on failure": hook.on_failure,
    }.items():
        table.add_row(label, value)
    show_wide(table)


@before_send.command(name="remove")
@_TENANT
def hook_remove(tenant: str) -> None:
    """Remove the hook of TENANT."""
    name = check_tenant_id(tenant)
    _run_hook(lambda service: service.remove(name))
    echo("ok: within 30 seconds, messages are stored without the hook")


def _show(endpoint: Endpoint) -> None:
    settings = endpoint.settings
    table = SafeTable()
    facts = {
        "endpoint": endpoint.name.id,
        "url": settings.url,
        "events": ", ".join(each.value for each in settings.events),
        "description": settings.description or "-",
        "status": settings.status.value,
        "reason": settings.disabled_reason or "-",
        "secrets": str(len(endpoint.secrets)),
        "created": format_ms(endpoint.created_at_ms),
        "updated": format_ms(endpoint.updated_at_ms),
    }
    for name, value in facts.items():
        table.add_row(name, value)
    show_wide(table)


def _types(names: tuple[str, ...]) -> tuple[EventType, ...]:
    return tuple(each for each in CHOSEN_TYPES if each.value in names)


def _name(tenant: str, endpoint: str) -> EndpointName:
    return EndpointName(check_tenant_id(tenant), EndpointId(endpoint))


def _run[T](work: Callable[[WebhookService], Awaitable[T]]) -> T:
    async def run() -> T:
        async with open_webhook_service() as (service, _):
            return await work(service)

    return asyncio.run(run())


def _run_hook[T](work: Callable[[BeforeSendService], Awaitable[T]]) -> T:
    async def run() -> T:
        async with open_webhook_service() as (_, service):
            return await work(service)

    return asyncio.run(run())
