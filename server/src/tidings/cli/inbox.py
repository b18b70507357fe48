"""`tidings inbox set | show | list | defaults | send | explain`."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypedDict, Unpack

import click
import msgspec
from msgspec.structs import replace

from tidings.accounts.rules import check_user_id
from tidings.app.settings import Settings
from tidings.app.settings.loader import load
from tidings.app.wiring import delivery
from tidings.app.wiring.engine_clients import open_key_ring, open_tables
from tidings.app.wiring.inboxes import InboxServices, build_serving_inboxes
from tidings.app.wiring.options import kafka_config, redis_options, validate_settings
from tidings.app.wiring.webhook_events import make_event_producer
from tidings.cli.output import SafeConsole, SafeTable, echo
from tidings.cli.tenant import explain_missing_tenant
from tidings.inboxes.config import Inbox, InboxDefaults, InboxSpec, check_inbox_id, new_inbox, spec_of
from tidings.inboxes.config_service import read_all_pages
from tidings.inboxes.model import InboxKey
from tidings.inboxes.sender import SendNotificationRequest
from tidings.jobs.chunk_topic import KafkaChunkPublisher
from tidings.kernel.clock import SystemClock, format_ms
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.platform.redis.client import RedisClient

_PROGRESS_EVERY_S = 1.0


@click.group(name="inbox")
def group() -> None:
    """Inboxes of a tenant: settings, sends, and the explanation of a count."""


class _InboxOptions(TypedDict):
    title: str | None
    description: str | None
    category: tuple[str, ...]
    schema_file: Path | None
    retention_days: int | None
    expires_after_s: int | None
    default_category: str | None
    known_users: bool | None


@group.command(name="set")
@click.argument("tenant")
@click.argument("inbox")
@click.option("--title", help="For people.  [default: the name]")
@click.option("--description", help="For people.")
@click.option(
    "--category",
    multiple=True,
    help="A category of notifications; may be repeated. Categories that are left out are retired.",
)
@click.option(
    "--schema-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A JSON Schema (2020-12) for messages.",
)
@click.option("--retention-days", type=int, help="How long notifications are kept; 0: forever.")
@click.option("--expires-after-s", type=int, help="Expiry of a notification; 0: with its retention.")
@click.option("--default-category", help="The category of notifications that are sent without one.")
@click.option(
    "--known-users/--all-users", default=None, help="Whether only users with a profile receive notifications."
)
def set_(tenant: str, inbox: str, **given: Unpack[_InboxOptions]) -> None:
    """Create INBOX of TENANT, or change the given settings. Applies everywhere within five seconds."""

    async def act(cases: InboxServices) -> Inbox:
        new = new_inbox(inbox, await cases.defaults.read(TenantId(tenant)))
        return await cases.inboxes.set(
            TenantId(tenant), inbox, lambda before: _changed(spec_of(before) if before else new, given)
        )

    _show(run_with_inboxes(act))


@group.command()
@click.argument("tenant")
@click.option("--retention-days", type=int, help="How long a new inbox keeps notifications; 0: forever.")
@click.option(
    "--known-users/--all-users", default=None, help="Whether only users with a profile receive them."
)
def defaults(tenant: str, *, retention_days: int | None, known_users: bool | None) -> None:
    """Show or change the settings of new inboxes of TENANT. Existing inboxes do not change."""

    def wish(before: InboxDefaults) -> InboxDefaults:
        return replace(
            before,
            retention_days=before.retention_days if retention_days is None else retention_days or None,
            is_for_known_users=before.is_for_known_users if known_users is None else known_users,
        )

    async def act(cases: InboxServices) -> InboxDefaults:
        if retention_days is None and known_users is None:
            return await cases.defaults.read(TenantId(tenant))
        return await cases.defaults.set(TenantId(tenant), wish)

    _show_defaults(run_with_inboxes(act))


@group.command()
@click.argument("tenant")
@click.argument("inbox")
def show(tenant: str, inbox: str) -> None:
    """Show INBOX of TENANT."""
    _show(run_with_inboxes(lambda cases: cases.inboxes.read(TenantId(tenant), inbox)))


@group.command(name="list")
@click.argument("tenant")
def list_(tenant: str) -> None:
    """List the inboxes of TENANT."""
    found = run_with_inboxes(lambda cases: read_all_pages(cases.inboxes.listed, TenantId(tenant)))
    table = SafeTable("inbox", "title", "categories", "retention")
    for each in found:
        table.add_row(each.id, each.title, ", ".join(each.categories), _kept(each.retention_days))
    SafeConsole().print(table)


@group.command()
@click.argument("tenant")
@click.argument("inbox")
@click.option("--to", "users", multiple=True, help="A user; may be repeated.")
@click.option(
    "--to-file",
    type=click.File(),
    help="A file with users, one in each line: up to 100,000.",
)
@click.option("--message", required=True, help="The message, as JSON.")
@click.option("--category", help="A category of the inbox.")
@click.option("--key", help="A repeat with the same key sends nothing new.")
def send(
    tenant: str,
    inbox: str,
    *,
    users: tuple[str, ...],
    to_file: Any,  # noqa: ANN401 - click's own file
    message: str,
    category: str | None,
    key: str | None,
) -> None:
    """Send a notification to users. `tidings job watch` shows the progress."""
    named = [*users, *(line.strip() for line in to_file or () if line.strip())]
    wish = SendNotificationRequest(
        user_ids=[check_user_id(user) for user in named], message=parse_object(message), category=category
    )
    sent = run_with_inboxes(lambda cases: cases.sender.send(TenantId(tenant), inbox, wish, key))
    echo(f"notification {sent.notification}\njob          {sent.job}\nusers        {sent.total}")


@group.command()
@click.argument("tenant")
@click.argument("inbox")
@click.argument("user")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000))
def explain(tenant: str, inbox: str, user: str, limit: int) -> None:
    """Show which notifications are in USER's counts, and why the others are not."""
    owner = InboxKey(TenantId(tenant), check_user_id(user), check_inbox_id(inbox))
    explained = run_with_inboxes(lambda cases: cases.queries.explain(owner, limit))
    explanation = explained.snapshot
    echo(f"unread {explanation.total}, unseen {explanation.unseen}")
    table = SafeTable("notification", "counted", "why", "since")
    for row, is_counted, why, at_ms in explained.reasons:
        table.add_row(row.id, "yes" if is_counted else "", why.value, format_ms(at_ms))
    SafeConsole().print(table)


@asynccontextmanager
async def open_inbox_services() -> AsyncIterator[InboxServices]:
    settings, clock = load().settings, SystemClock()
    validate_settings(settings, [kafka_config, redis_options])
    async with (
        delivery.open_publisher(settings) as publisher,
        _redis(settings) as redis,
        open_tables(settings.dynamo) as client,
        open_key_ring(settings, client, clock) as keys,
        explain_missing_tenant(settings, client),
    ):
        cases, live = build_serving_inboxes(
            client,
            keys,
            clock,
            KafkaChunkPublisher(publisher),
            redis,
            events=make_event_producer(client, keys, clock),
            settings=settings.inboxes,
        )
        yield cases
        await live.wait_idle(_PROGRESS_EVERY_S)


@asynccontextmanager
async def _redis(settings: Settings) -> AsyncIterator[RedisClient]:
    redis = await RedisClient.connect(redis_options(settings), wait=False)
    try:
        yield redis
    finally:
        await redis.close()


def run_with_inboxes[T](act: Callable[[InboxServices], Awaitable[T]]) -> T:
    async def acted() -> T:
        async with open_inbox_services() as cases:
            return await act(cases)

    return asyncio.run(acted())


def _changed(spec: InboxSpec, given: _InboxOptions) -> InboxSpec:
    changes: dict[str, Any] = {
        "title": given["title"],
        "description": given["description"],
        "categories": given["category"] or None,
        "schema": parse_object(given["schema_file"].read_text()) if given["schema_file"] else None,
        "retention_days": given["retention_days"],
        "expires_after_s": given["expires_after_s"],
        "default_category": given["default_category"],
        "is_for_known_users": given["known_users"],
    }
    spec = replace(spec, **{name: value for name, value in changes.items() if value is not None})
    return replace(
        spec,
        retention_days=spec.retention_days or None,
        expires_after_s=spec.expires_after_s or None,
        category_settings={
            name: each for name, each in spec.category_settings.items() if name in spec.categories
        },
    )


def parse_object(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise TidingsError(Code.REQUEST_INVALID, f"Not a JSON object: {error}") from error


def _show_defaults(defaults: InboxDefaults) -> None:
    echo(f"retention  {_kept(defaults.retention_days)}")
    echo(f"users      {'with a profile' if defaults.is_for_known_users else 'all'}")


def _kept(days: int | None) -> str:
    return "forever" if days is None else f"{days} days"


def _show(inbox: Inbox) -> None:
    table = SafeTable()
    table.add_row("inbox", inbox.id)
    table.add_row("title", inbox.title)
    table.add_row("description", inbox.description or "-")
    table.add_row("categories", ", ".join(inbox.categories) or "-")
    table.add_row("default category", inbox.default_category or "-")
    table.add_row("users", "with a profile" if inbox.is_for_known_users else "all")
    table.add_row("schema", "-" if inbox.schema is None else f"version {inbox.schema_version}")
    table.add_row("retention", _kept(inbox.retention_days))
    lives = "until retention ends it" if inbox.expires_after_s is None else f"{inbox.expires_after_s} s"
    table.add_row("a notification lives", lives)
    table.add_row("version", f"{inbox.version}, of {format_ms(inbox.updated_ms)}")
    SafeConsole().print(table)
