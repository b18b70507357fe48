"""`tidings restore finish`: after a backup was put back, before anything starts."""

import asyncio
from datetime import UTC, datetime

import click

from tidings.app.settings import Settings
from tidings.app.settings.loader import load
from tidings.app.wiring import tables, topics
from tidings.app.wiring.accounts import open_tables
from tidings.app.wiring.options import kafka_config, redis_options, validate_settings
from tidings.cli.output import echo
from tidings.installation.restore import FENCE_S, Restore
from tidings.installation.store import Installation, InstallationStore
from tidings.kernel.clock import SystemClock

_ABOUT = """\
The tables {prefix}* were put back to {to}, or a standby took over at that moment. What was acknowledged later is
gone. This now
  - raises the installation's epoch: devices forget what they hold of chats and read it anew; their outboxes are kept
  - empties Kafka's topics under {topics}, Redis' keys under {keys}
  - makes {prefix}idempotency_keys and {prefix}pending_queue anew, empty
Every process must be stopped, and stay so until this has ended."""


class _Moment(click.ParamType[str]):
    """Spelled one way, however it was written: by it a restore is known again."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            at = datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value} is no time: 2026-11-15T09:30:00Z", param, ctx)
        if at.tzinfo is None:
            self.fail(f"{value} names no zone: {value}Z, or +01:00 behind it", param, ctx)
        if at > datetime.now(UTC):
            self.fail(f"{value} is still to come", param, ctx)
        return at.astimezone(UTC).isoformat(timespec="seconds")


@click.group(name="restore")
def group() -> None:
    """Finish a restore from a backup, or a failover."""


@group.command()
@click.option(
    "--to", "moment", required=True, type=_Moment(), help="When the copy was taken: 2026-11-15T09:30Z."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--wait-s",
    default=FENCE_S,
    show_default=True,
    type=click.FloatRange(min=0),
    help="For processes that nobody sees. Less is right only where it is certain that there are none.",
)
@click.option(
    "--other-regions-are-fenced",
    "is_fenced",
    is_flag=True,
    help="Go on although other regions have replicas: their processes were denied every write by IAM.",
)
def finish(*, moment: str, yes: bool, wait_s: float, is_fenced: bool) -> None:
    """Finish a restore or a failover: raise the epoch and empty what knows of the time that is gone.

    Run it when the tables stand and before anything starts. It may be repeated: interrupted, it is done anew; done
    for the same moment, it only says so.
    """
    settings = load().settings
    validate_settings(settings, (kafka_config, redis_options))
    echo(_about(settings, moment))
    if not yes:
        click.confirm("Go on?", abort=True)
    done = asyncio.run(_finish(settings, moment, wait_s, is_fenced=is_fenced))
    echo(f"ok: epoch {done.epoch}. Start the processes.")


def _about(settings: Settings, moment: str) -> str:
    return _ABOUT.format(
        prefix=settings.dynamo.table_prefix,
        to=moment,
        topics=settings.kafka.topic_prefix,
        keys=settings.redis.key_prefix,
    )


async def _finish(settings: Settings, moment: str, wait_s: float, *, is_fenced: bool) -> Installation:
    clock = SystemClock()
    async with open_tables(settings.dynamo) as client:
        restore = Restore(
            row=InstallationStore(client, clock),
            tables=tables.tables_control_plane(settings.dynamo),
            topics=topics.topics_control_plane(settings.kafka),
            redis=redis_options(settings),
            clock=clock,
            is_on_demand=settings.dynamo.capacity == "on_demand",
            report=echo,
            is_fenced=is_fenced,
        )
        return await restore.finish(moment, wait_s=wait_s)
