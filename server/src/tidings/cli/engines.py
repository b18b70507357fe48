"""`tidings engines start | stop | status | wipe | fetch`."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import click
import psutil
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tidings.app.settings.loader import LoadedSettings, load
from tidings.cli.output import SafeConsole, SafeTable, echo
from tidings.dev.engines import remote_engines
from tidings.engines import process
from tidings.engines.jars import DownloadCache, OnDownloadProgress, default_cache
from tidings.engines.local_cluster import RUNNERS, LocalCluster, no_progress
from tidings.engines.model import DynamoKind, Engine, RunningEngine, StartRequest
from tidings.engines.node_plan import engine_modules

_ENGINES = click.Choice([engine.value for engine in Engine])
_DYNAMO = click.Choice(["local", "dynoxide"])


@click.group(name="engines")
def group() -> None:
    """Kafka, DynamoDB and Valkey on this machine, for development and tests."""


@group.command()
@click.argument("names", nargs=-1, type=_ENGINES)
@click.option("--dynamo", type=_DYNAMO, help="Amazon's DynamoDB Local, or dynoxide for load and crash tests.")
@click.option("--on-disk", is_flag=True, help="Keep the data over a stop.")
@click.option("--brokers", type=click.Choice(["1", "3"]), help="Kafka brokers; 3 are replicated.")
def start(names: tuple[str, ...], dynamo: DynamoKind | None, *, on_disk: bool, brokers: str | None) -> None:
    """Start NAMES, or all that the settings do not place elsewhere. What runs already stays as it is."""
    loaded = load()
    chosen = loaded.settings.engines
    wanted = frozenset(Engine(name) for name in names) or frozenset(Engine) - remote_engines(loaded).keys()
    wish = StartRequest(
        engines=wanted,
        dynamo=dynamo or chosen.dynamo,
        on_disk=on_disk or chosen.on_disk,
        kafka_brokers=int(brokers or chosen.kafka_brokers),
        ports={
            Engine.DYNAMO: chosen.dynamo_port,
            Engine.KAFKA: chosen.kafka_port,
            Engine.VALKEY: chosen.valkey_port,
        },
        ready_timeout_s=chosen.ready_timeout_s,
    )
    began = time.monotonic()
    with _working(loaded) as fleet:
        before = {r.node.name for r in fleet.status() if r.is_alive}
        running = fleet.start(wish)
    _show(running, loaded)
    fresh = [r for r in running if r.node.name not in before]
    echo(f"{len(fresh)} started in {time.monotonic() - began:.1f} s" if fresh else "all were running already")
    echo(f"logs: {fleet.logs}")


@group.command()
def stop() -> None:
    """End them. Nothing stays but logs, and data that was started with --on-disk."""
    with _working(load()) as fleet:
        stopped = fleet.stop()
    echo(f"stopped: {', '.join(r.node.name for r in stopped)}" if stopped else "nothing was running")


@group.command()
def status() -> None:
    """What runs, where, with which memory; fails if something that should run does not."""
    loaded = load()
    running = _fleet(loaded).status()
    _show(running, loaded)
    if any(not r.is_alive for r in running):
        raise click.exceptions.Exit(1)


@group.command()
@click.argument("name", required=False, type=_ENGINES)
@click.option("--yes", is_flag=True, help="Do not ask.")
def wipe(name: str | None, *, yes: bool) -> None:
    """Empty NAME, or all: data goes, what runs is killed and starts again empty on the same port."""
    if not yes:
        click.confirm(f"Delete everything in {name or 'all engines'} of this directory?", abort=True)
    loaded = load()
    with _working(loaded) as fleet:
        fleet.wipe(Engine(name) if name else None)
    _show(fleet.status(), loaded)


@group.command()
@click.option("--dynamo", type=_DYNAMO, multiple=True, help="Default: as set; give both to have both.")
def fetch(dynamo: tuple[DynamoKind, ...]) -> None:
    """Fetch what a start needs, so that the first one is quick and works without a network."""
    loaded = load()
    with _working(loaded) as fleet:
        for kind in dynamo or (loaded.settings.engines.dynamo,):
            for runner in engine_modules(StartRequest(dynamo=kind)):
                RUNNERS[runner].install(fleet.cache, fleet.progress)
    echo(f"everything is there: {fleet.cache.path}")


def _fleet(loaded: LoadedSettings, progress: OnDownloadProgress = no_progress) -> LocalCluster:
    chosen = loaded.settings.engines
    cache = DownloadCache(chosen.cache_dir) if chosen.cache_dir else default_cache()
    return LocalCluster(chosen.data_dir, cache, progress)


@contextmanager
def _working(loaded: LoadedSettings) -> Iterator[LocalCluster]:
    """A fleet that tells what it is doing: a bar on a terminal, a line per step elsewhere."""
    console = SafeConsole(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("engines", total=None)
        told: set[str] = set()

        def progress(what: str, done: int, total: int) -> None:
            step = what.partition(":")[0]
            if not console.is_terminal and step not in told:
                told.add(step)
                echo(f"{step} …", err=True)
            bar.update(task, description=what, completed=done, total=total or None)

        yield _fleet(loaded, progress)


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
    """For addresses that show: does the port answer? `aws` and hidden URLs are not tried here."""
    host, _, port = where.partition(",")[0].removeprefix("http://").removeprefix("https://").rpartition(":")
    if not host or not port.isdigit():
        return "not tried"
    return "open" if process.is_port_open(host, int(port)) else "no answer"


def _style(state: str) -> str | None:
    """Colour the rows of engines that cannot be used."""
    return "red" if state.startswith(("dead", "not answering", "no answer")) else None
