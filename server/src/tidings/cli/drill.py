"""`tidings drill restore | failover`: rehearse both on copies of the tables."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from tidings.app.settings.loader import load
from tidings.cli.output import echo, echo_json
from tidings.dev.engines import remote_engines
from tidings.drills.model import DrillReport
from tidings.drills.rehearsal import Rehearsal
from tidings.engines.jars import cache_in
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import Engine
from tidings.installation.restore import FENCE_S
from tidings.kernel.errors import Code, TidingsError

_WAIT = click.option(
    "--wait-s",
    default=FENCE_S,
    show_default=True,
    type=click.FloatRange(min=0),
    help="Passed to `tidings restore finish`. The default shows the time that a real restore takes.",
)
_JSON = click.option("--json", "is_json", is_flag=True, help="Print the report as one line of JSON.")


@click.group(name="drill")
def group() -> None:
    """Rehearse a restore or a failover on copies of the tables. Production is only read.

    For engines on this machine (`tidings engines run`). Memory and disk must suffice for a second set of engines.
    """


@group.command()
@click.option(
    "--snapshot",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The snapshot to restore. Default: a new one, which is deleted afterwards.",
)
@_WAIT
@_JSON
def restore(*, snapshot: Path | None, wait_s: float, is_json: bool) -> None:
    """Restore a snapshot into a scratch installation, and send and read messages there."""
    _run(lambda rehearsal: rehearsal.restore(snapshot), wait_s, is_json=is_json)


@group.command()
@_WAIT
@_JSON
def failover(*, wait_s: float, is_json: bool) -> None:
    """Take over with tables of different instants in a scratch installation, and send and read messages there."""
    _run(Rehearsal.failover, wait_s, is_json=is_json)


def _run(drill: Callable[[Rehearsal], DrillReport], wait_s: float, *, is_json: bool) -> None:
    loaded = load()
    if Engine.DYNAMO in remote_engines(loaded):
        raise TidingsError(
            Code.SETTINGS_INVALID,
            "dynamo.endpoint names tables elsewhere, and this drill copies those of an engine on this machine.",
            hint="On AWS, follow docs/howto/rehearse-a-recovery.md.",
        )
    chosen = loaded.settings.engines
    cache = cache_in(chosen.cache_dir)
    production = LocalCluster(chosen.data_dir, cache)
    rehearsal = Rehearsal(
        production=production, loaded=loaded, wait_s=wait_s, report=partial(echo, err=is_json)
    )
    report = drill(rehearsal)
    if is_json:
        echo_json(report)
        return
    echo(f"RPO: {report.rpo_entries} entries, {report.rpo_s:g} s")
    echo(
        f"RTO: {report.rto_s:g} s until a send was acknowledged, {report.delivered_s:g} s until it was delivered"
    )
    if not report.has_read_old_message:
        echo("The copy has no message that its author may read, so none was decrypted.")
    echo("ok: the scratch installation is deleted")
