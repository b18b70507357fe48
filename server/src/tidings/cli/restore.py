"""`tidings restore finish`: finish a restore from a backup, before any process starts."""

import asyncio
from datetime import UTC, datetime
from functools import partial

import click

from tidings.app.settings import Settings
from tidings.app.settings.loader import load
from tidings.app.wiring import schema
from tidings.app.wiring.engine_clients import open_key_ring, open_tables
from tidings.app.wiring.erasure import delete_tenants_again, erase_again
from tidings.app.wiring.options import kafka_config, redis_options, validate_settings
from tidings.cli.output import echo
from tidings.installation.restore import FENCE_S, ErasedAgain, Restore
from tidings.installation.store import Installation, InstallationStore
from tidings.kernel.clock import Clock, SystemClock
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore

_ABOUT = """\
The tables {prefix}* were restored to {to}, or a standby took over at that time. Messages that were acknowledged
later are lost. This command:
  - raises the installation's epoch. Devices delete their copies of chats and read them again; their outboxes are kept.
  - empties Kafka's topics under {topics}, and Redis' keys under {keys}.
  - deletes {prefix}idempotency_keys and {prefix}pending_queue and creates them again, empty.
  - destroys the keys of users again who were erased after the backup, listed in {prefix}erasures, and starts their
    erasures again, and the deletions of tenants.
Every process must be stopped until this command has ended."""


class _Moment(click.ParamType[str]):
    """A time in one format, because a finished restore is recognized by it."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            at = datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value} is not a time like 2026-11-15T09:30:00Z", param, ctx)
        if at.tzinfo is None:
            self.fail(f"{value} has no time zone; write {value}Z, or append +01:00", param, ctx)
        if at > datetime.now(UTC):
            self.fail(f"{value} is in the future", param, ctx)
        return at.astimezone(UTC).isoformat(timespec="seconds")


@click.group(name="restore")
def group() -> None:
    """Finish a restore from a backup, or a failover."""


@group.command()
@click.option(
    "--to", "moment", required=True, type=_Moment(), help="The time of the backup, such as 2026-11-15T09:30Z."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--wait-s",
    default=FENCE_S,
    show_default=True,
    type=click.FloatRange(min=0),
    help="How long to wait for processes that were not found. Use less only if certainly none runs.",
)
@click.option(
    "--other-regions-are-fenced",
    "is_fenced",
    is_flag=True,
    help="Continue although other regions have replicas: IAM denies every write of their processes.",
)
def finish(*, moment: str, yes: bool, wait_s: float, is_fenced: bool) -> None:
    """Finish a restore or a failover: raise the epoch, and delete the data of the old epoch.

    Users and tenants whose erasure the backup does not have are erased again.

    Run it after the tables are restored and before any process starts. It can be repeated after an interruption.
    If it has finished for the same time, it changes nothing.
    """
    settings = load().settings
    validate_settings(settings, (kafka_config, redis_options))
    echo(_about(settings, moment))
    if not yes:
        click.confirm("Continue?", abort=True)
    done = asyncio.run(_finish(settings, moment, wait_s, is_fenced=is_fenced))
    echo(f"ok: epoch {done.epoch}. Start the processes.")


def _about(settings: Settings, moment: str) -> str:
    return _ABOUT.format(
        prefix=settings.dynamo.table_prefix,
        to=moment,
        topics=settings.kafka.topic_prefix,
        keys=settings.redis.key_prefix,
    )


async def _erase_again(
    settings: Settings, client: DynamoClient, clock: Clock, restored_ms: int
) -> ErasedAgain:
    """Delete tenants again, then erase users of all others again."""
    keys = erasures = 0
    deletions = await delete_tenants_again(settings, client, clock, restored_ms)
    async with open_key_ring(settings, client, clock) as ring:
        tenants = TenantService(DynamoTenantStore(client, AuthenticatedRows(ring)), clock)
        for tenant in await tenants.list():
            some = await erase_again(settings, client, clock, tenant, restored_ms)
            keys, erasures = keys + some.keys, erasures + some.erasures
    return ErasedAgain(keys, erasures, deletions)


async def _finish(settings: Settings, moment: str, wait_s: float, *, is_fenced: bool) -> Installation:
    clock = SystemClock()
    async with open_tables(settings.dynamo) as client:
        restore = Restore(
            row=InstallationStore(client, clock),
            tables=schema.tables_control_plane(settings.dynamo),
            topics=schema.topics_control_plane(settings.kafka),
            redis=redis_options(settings),
            clock=clock,
            is_on_demand=settings.dynamo.capacity == "on_demand",
            report=echo,
            erase_again=partial(_erase_again, settings, client, clock),
            is_fenced=is_fenced,
        )
        return await restore.finish(moment, wait_s=wait_s)
