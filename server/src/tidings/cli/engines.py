"""`tidings engines start | run | stop | status | snapshot | restore | wipe | fetch`."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import click
import psutil
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tidings.app.settings.loader import LoadedSettings, load
from tidings.cli.output import SafeConsole, SafeTable, echo
from tidings.dev.engines import remote_engines
from tidings.engines import process
from tidings.engines.jars import OnDownloadProgress, cache_in
from tidings.engines.local_cluster import RUNNERS, LocalCluster, no_progress
from tidings.engines.model import DynamoKind, Engine, RunningEngine, StartRequest
from tidings.engines.node_plan import engine_modules
from tidings.engines.seaweedfs import default_engines
from tidings.engines.snapshots import delete_old_snapshots, restore_snapshot, take_snapshot
from tidings.kernel.errors import Code, TidingsError

_ENGINES = click.Choice([engine.value for engine in Engine])
_DYNAMO = click.Choice(["local", "dynoxide"])
_LOOK_EVERY_S = 1.0


@click.group(name="engines")
def group() -> None:
    """Kafka, DynamoDB, Valkey, S3 and OpenSearch on this machine, for development and tests."""


@group.command()
@click.argument("names", nargs=-1, type=_ENGINES)
@click.option("--dynamo", type=_DYNAMO, help="Amazon's DynamoDB Local, or dynoxide for load and crash tests.")
@click.option("--on-disk", is_flag=True, help="Keep the data after a stop.")
@click.option("--brokers", type=click.Choice(["1", "3"]), help="Kafka brokers; 3 are replicated.")
def start(names: tuple[str, ...], dynamo: DynamoKind | None, *, on_disk: bool, brokers: str | None) -> None:
    """Start NAMES, or all engines that the settings do not place elsewhere. Running engines are not changed.

    OpenSearch is started only by its name: `tidings engines start opensearch`.
    """
    loaded = load()
    wish = _request(loaded, names, dynamo, on_disk=on_disk, brokers=brokers)
    began = time.monotonic()
    with _cluster_with_progress(loaded) as cluster:
        before = {r.node.name for r in cluster.status() if r.is_alive}
        running = cluster.start(wish)
    _show(running, loaded)
    fresh = [r for r in running if r.node.name not in before]
    echo(f"{len(fresh)} started in {time.monotonic() - began:.1f} s" if fresh else "all were running already")
    echo(f"logs: {cluster.logs}")


def _request(
    loaded: LoadedSettings,
    names: tuple[str, ...],
    dynamo: DynamoKind | None,
    *,
    on_disk: bool,
    brokers: str | None = None,
) -> StartRequest:
    chosen = loaded.settings.engines
    return StartRequest(
        engines=frozenset(Engine(name) for name in names)
        or default_engines() - remote_engines(loaded).keys(),
        dynamo=dynamo or chosen.dynamo,
        on_disk=on_disk or chosen.on_disk,
        kafka_brokers=int(brokers or chosen.kafka_brokers),
        ports={
            Engine.DYNAMO: chosen.dynamo_port,
            Engine.KAFKA: chosen.kafka_port,
            Engine.VALKEY: chosen.valkey_port,
            Engine.S3: chosen.s3_port,
        },
        ready_timeout_s=chosen.ready_timeout_s,
    )


@group.command()
def run() -> None:
    """Run the engines on disk in the foreground, for a service manager. Fails if an engine dies.

    SIGTERM or Ctrl-C stops them in order and keeps their data. DynamoDB is dynoxide.
    """
    loaded = load()
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with _cluster_with_progress(loaded) as cluster:
        running = cluster.start(_request(loaded, (), "dynoxide", on_disk=True))
    _show(running, loaded)
    process.notify_service_manager("READY=1")
    dead: list[str] = []
    while not dead and not ended.wait(_LOOK_EVERY_S):
        dead = [each.node.name for each in running if not each.is_alive]
    process.notify_service_manager("STOPPING=1")
    cluster.stop()
    if dead:
        raise TidingsError(
            Code.ENGINE_DIED,
            f"{', '.join(dead)} ended unexpectedly. The other engines were stopped.",
            hint=f"The log says why: {cluster.logs}",
        )


@group.command()
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Default: snapshots/ of the data.",
)
@click.option(
    "--keep", type=click.IntRange(min=1), default=14, show_default=True, help="Delete older snapshots."
)
def snapshot(folder: Path | None, keep: int) -> None:
    """Copy the database of the running engines to a file. Processes may write meanwhile."""
    loaded = load()
    place = folder or loaded.settings.engines.data_dir / "snapshots"
    taken = take_snapshot(_cluster(loaded), place, datetime.now(UTC))
    echo(f"{taken.path}: {taken.size_bytes / 2**20:,.1f} MB")
    for path in delete_old_snapshots(place, keep):
        echo(f"deleted: {path.name}", err=True)


@group.command()
@click.argument("path", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def restore(path: Path) -> None:
    """Replace the data of the stopped engines by that of a snapshot."""
    restored = restore_snapshot(_cluster(load()), path)
    at = f"{restored.at:%Y-%m-%dT%H:%M:%SZ}"
    echo(f"restored to {at}. Start the engines, then run: tidings restore finish --to {at}")


@group.command()
def stop() -> None:
    """Stop the engines. Logs are kept, and the data of engines started with --on-disk."""
    with _cluster_with_progress(load()) as cluster:
        stopped = cluster.stop()
    echo(f"stopped: {', '.join(r.node.name for r in stopped)}" if stopped else "nothing was running")


@group.command()
def status() -> None:
    """Show the running engines, their addresses and memory. Fails if an engine has died."""
    loaded = load()
    running = _cluster(loaded).status()
    _show(running, loaded)
    if any(not r.is_alive for r in running):
        raise click.exceptions.Exit(1)


@group.command()
@click.argument("name", required=False, type=_ENGINES)
@click.option("--yes", is_flag=True, help="Do not ask.")
def wipe(name: str | None, *, yes: bool) -> None:
    """Delete the data of NAME, or of all. Running engines are killed, and start empty on the same port."""
    if not yes:
        click.confirm(f"Delete everything in {name or 'all engines'} of this directory?", abort=True)
    loaded = load()
    with _cluster_with_progress(loaded) as cluster:
        cluster.wipe(Engine(name) if name else None)
    _show(cluster.status(), loaded)


@group.command()
@click.option("--dynamo", type=_DYNAMO, multiple=True, help="Default: as set; may be repeated.")
def fetch(dynamo: tuple[DynamoKind, ...]) -> None:
    """Download the engines, so that the first start is quick and needs no network."""
    loaded = load()
    with _cluster_with_progress(loaded) as cluster:
        for kind in dynamo or (loaded.settings.engines.dynamo,):
            for runner in engine_modules(StartRequest(dynamo=kind)):
                RUNNERS[runner].install(cluster.cache, cluster.progress)
    echo(f"all engines are downloaded: {cluster.cache.path}")


def _cluster(loaded: LoadedSettings, progress: OnDownloadProgress = no_progress) -> LocalCluster:
    chosen = loaded.settings.engines
    cache = cache_in(chosen.cache_dir)
    return LocalCluster(chosen.data_dir, cache, progress)


@contextmanager
def _cluster_with_progress(loaded: LoadedSettings) -> Iterator[LocalCluster]:
    """Yield a cluster that shows its progress: a bar on a terminal, a line for each step elsewhere."""
    console = SafeConsole(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("engines", total=None)
        shown: set[str] = set()

        def progress(what: str, done: int, total: int) -> None:
            step = what.partition(":")[0]
            if not console.is_terminal and step not in shown:
                shown.add(step)
                echo(f"{step} …", err=True)
            bar.update(task, description=what, completed=done, total=total or None)

        yield _cluster(loaded, progress)


def _show(running: list[RunningEngine], loaded: LoadedSettings) -> None:
    table = SafeTable("engine", "what", "state", "at", "process", "memory")
    for r in running:
        word, *rest = _state(r)
        table.add_row(r.node.name, RUNNERS[r.node.kind].version(), word, *rest, style=_style(word))
    here = {r.node.engine for r in running}
    for engine, where in remote_engines(loaded).items():
        if engine not in here:
            word = _reach(where)
            table.add_row(engine, "set elsewhere", word, where, "-", "-", style=_style(word))
    for engine in Engine:
        if engine not in here | remote_engines(loaded).keys():
            table.add_row(engine, "-", "stopped", "-", "-", "-", style="dim")
    SafeConsole().print(table)
    for r in (r for r in running if not r.is_alive):
        echo(f"{r.node.name} has died; its log: {r.node.log}", fg="red", err=True)


def _state(running: RunningEngine) -> tuple[str, str, str, str]:
    process = running.pid.find()
    kept = "on disk" if running.node.on_disk else "scratch"
    if process is None:
        return "dead", running.node.address, "-", "-"
    memory_mb = process.memory_info().rss // 2**20
    is_ready = process.status() != psutil.STATUS_STOPPED and RUNNERS[running.node.kind].is_ready(running.node)
    word = "ready" if is_ready else "not answering"
    return f"{word}, {kept}", running.node.address, str(process.pid), f"{memory_mb} MB"


def _reach(where: str) -> str:
    """Return whether the port of an address answers. `aws` and hidden URLs are not tried."""
    host, _, port = where.partition(",")[0].removeprefix("http://").removeprefix("https://").rpartition(":")
    if not host or not port.isdigit():
        return "not tried"
    return "open" if process.is_port_open(host, int(port)) else "no answer"


def _style(state: str) -> str | None:
    """Colour the rows of engines that cannot be used."""
    return "red" if state.startswith(("dead", "not answering", "no answer")) else None
