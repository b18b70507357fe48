"""`tidings retention set | show | chat | hold | release | sweep`."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass

import click
from msgspec.structs import replace

from tidings.app.settings import Settings
from tidings.app.settings.loader import load
from tidings.app.wiring.delivery import open_publisher
from tidings.app.wiring.engine_clients import make_user_key_ring, open_key_ring, open_tables, read_epoch
from tidings.app.wiring.options import dynamo_endpoint, kafka_config, validate_settings
from tidings.app.wiring.retention import build_retention_service, retention_deps
from tidings.cli.output import echo
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.media.store.tasks import KafkaMediaTasks
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.retention.model import ChatRetention, RetentionStats
from tidings.retention.service import RetentionService
from tidings.retention.sweeper import RetentionSweeper
from tidings.tenants.model import MAX_RETENTION_DAYS, MIN_ARCHIVE_DAYS, RetentionSettings, TenantSettings
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore

_NONE = "none"
_DAYS = f"1 to {MAX_RETENTION_DAYS} days, or `none`."
_ARCHIVE_DAYS = f"{MIN_ARCHIVE_DAYS} to {MAX_RETENTION_DAYS} days, or `none`."


@click.group(name="retention")
def group() -> None:
    """How long messages are kept: limits, legal holds, sweeps."""


@group.command(name="set")
@click.argument("tenant")
@click.option("--direct-days", help=f"Messages of direct chats expire after these days: {_DAYS}")
@click.option("--group-days", help=f"Messages of groups expire after these days: {_DAYS}")
@click.option("--archive-days", help=f"Content moves to the archive after these days: {_ARCHIVE_DAYS}")
def set_(tenant: str, direct_days: str | None, group_days: str | None, archive_days: str | None) -> None:
    """Set after how many days messages of TENANT expire or are archived. The next sweep applies it, within 6 hours."""

    def change(settings: TenantSettings) -> TenantSettings:
        now = settings.retention
        limits = RetentionSettings(
            direct_days=now.direct_days if direct_days is None else _days(direct_days),
            group_days=now.group_days if group_days is None else _days(group_days),
            archive_days=now.archive_days if archive_days is None else _days(archive_days, MIN_ARCHIVE_DAYS),
            is_held=now.is_held,
        )
        return replace(settings, retention=limits)

    changed = asyncio.run(_with_services(lambda services: services.tenants.change(tenant, change)))
    _show_tenant(changed.settings.retention)


@group.command()
@click.argument("tenant")
@click.argument("chat", required=False)
def show(tenant: str, chat: str | None) -> None:
    """Show the limits and the hold of TENANT, or of one CHAT."""
    if chat is None:
        found = asyncio.run(_with_services(lambda services: services.tenants.read(tenant)))
        _show_tenant(found.settings.retention)
        return
    _show_chat(asyncio.run(_with_services(lambda services: services.chats.read(_chat(tenant, chat)))))


@group.command()
@click.argument("tenant")
@click.argument("chat")
@click.option("--days", required=True, help=f"Messages of the chat expire after these days: {_DAYS}")
def chat(tenant: str, chat: str, days: str) -> None:
    """Give CHAT a limit of its own, which replaces that of TENANT; `--days none` removes it."""
    limit = _days(days)
    _show_chat(
        asyncio.run(_with_services(lambda services: services.chats.set_days(_chat(tenant, chat), limit)))
    )


@group.command()
@click.argument("tenant")
@click.option("--chat", help="Hold this chat only.  [default: all chats of TENANT]")
def hold(tenant: str, chat: str | None) -> None:
    """Set a legal hold: until it is released, no message of TENANT, or of one chat, expires."""
    _set_hold(tenant, chat, is_held=True)


@group.command()
@click.argument("tenant")
@click.option("--chat", help="Release the hold of this chat.  [default: that of TENANT]")
def release(tenant: str, chat: str | None) -> None:
    """Release a legal hold. The next sweep expires what is older than its limit, unless another hold keeps it."""
    _set_hold(tenant, chat, is_held=False)


def _set_hold(tenant: str, chat: str | None, *, is_held: bool) -> None:
    if chat is not None:
        key = _chat(tenant, chat)
        act = _with_services(lambda services: services.chats.set_hold(key, is_held=is_held))
        _show_chat(asyncio.run(act))
        return

    def change(settings: TenantSettings) -> TenantSettings:
        return replace(settings, retention=replace(settings.retention, is_held=is_held))

    changed = asyncio.run(_with_services(lambda services: services.tenants.change(tenant, change)))
    _show_tenant(changed.settings.retention)


@group.command()
@click.option("--tenant", help="Sweep this tenant only.")
def sweep(tenant: str | None) -> None:
    """Expire messages now. `tidings run notifications` does so every 6 hours."""
    settings = load().settings
    validate_settings(settings, (dynamo_endpoint, kafka_config))
    found = asyncio.run(_sweep(settings, tenant))
    for name, count in asdict(found).items():
        echo(f"{name}: {count}")
    if found.failed:
        raise click.exceptions.Exit(1)


async def _sweep(settings: Settings, tenant: str | None) -> RetentionStats:
    clock = SystemClock()
    async with (
        open_tables(settings.dynamo) as client,
        open_key_ring(settings, client, clock) as keys,
        open_publisher(settings) as publisher,
    ):
        deps = retention_deps(
            client,
            make_user_key_ring(settings, client, keys, clock),
            KafkaMediaTasks(publisher),
            clock,
            epoch=await read_epoch(client, clock),
        )
        sweeper = RetentionSweeper(deps)
        await (sweeper.sweep(TenantId(tenant)) if tenant else sweeper.sweep_all())
        return sweeper.stats


@dataclass(frozen=True, slots=True)
class _Services:
    tenants: TenantService
    chats: RetentionService


async def _with_services[T](act: Callable[[_Services], Awaitable[T]]) -> T:
    settings, clock = load().settings, SystemClock()
    async with open_tables(settings.dynamo) as client, open_key_ring(settings, client, clock) as keys:
        tenants = TenantService(DynamoTenantStore(client, AuthenticatedRows(keys)), clock)
        return await act(_Services(tenants, build_retention_service(client)))


def _days(text: str, least: int = 1) -> int | None:
    if text == _NONE:
        return None
    if not text.isdecimal() or not least <= int(text) <= MAX_RETENTION_DAYS:
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"{text!r} is not a number of days. Use {least} to {MAX_RETENTION_DAYS} days, or `{_NONE}`.",
        )
    return int(text)


def _chat(tenant: str, chat: str) -> ChatKey:
    return ChatKey(TenantId(tenant), ChatId(chat))


def _show_tenant(limits: RetentionSettings) -> None:
    echo(f"direct chats: {_limit(limits.direct_days, 'kept')}")
    echo(f"groups: {_limit(limits.group_days, 'kept')}")
    echo(f"archive: {'none' if limits.archive_days is None else f'after {limits.archive_days} days'}")
    echo(f"legal hold: {'yes, nothing expires or is archived' if limits.is_held else 'no'}")


def _show_chat(found: ChatRetention) -> None:
    echo(f"messages: {_limit(found.days, 'limit of the tenant')}")
    echo(f"legal hold: {'yes, nothing expires or is archived' if found.is_held else 'no'}")
    echo(f"expired up to sequence: {found.expired_up_to}")
    echo(f"archived up to sequence: {found.archived_up_to}")


def _limit(days: int | None, otherwise: str) -> str:
    return otherwise if days is None else f"expire after {days} days"
