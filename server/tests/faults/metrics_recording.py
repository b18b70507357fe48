"""Record the metrics of an installation under load and faults, for the checks of dashboards and alerts.

While a fault lasts, the commands of the runbooks that belong to it run as an operator would run them. The recording is
one JSON file, compressed: the time of each scrape, the values of each series, the faults, and the commands.
"""

import argparse
import asyncio
import http.client
import json
import lzma
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import uvloop
from fixtures import fork_server
from fixtures.installation_processes import InstallationProcess, ProcessKind

from faults.proxy import Delay, DynamoProxy, Match, Throttle
from faults.recorded_receivers import Receivers
from faults.recorded_requests import using_the_api
from faults.whole.fault import FaultRun
from faults.whole.installation import FaultInstallation, installation_under_fault
from faults.whole.run import engines
from infra.monitoring.alerts import ALERTS
from infra.monitoring.checks import used_expressions, used_series
from infra.monitoring.model import Alert
from infra.monitoring.runbooks import commands_of, read_sections
from tidings.engines.model import Engine
from tidings_harness.workload.scenario import Scenario

_EVERY_S = 2.0
_KINDS: tuple[ProcessKind, ...] = (
    "gateway",
    "gateway",
    "delivery",
    "relay",
    "api",
    "notifications",
    "push",
    "webhooks",
)
_SCENARIO = Scenario(groups=2, members=12, devices=1, large_chat_members=104, rate=4)
_FAULT_S, _LONG_S, _CALM_S = 24.0, 85.0, 20.0
_LOCAL = {"WEBHOOKS_NETWORK": "local", "PUSH_NETWORK": "local"}
_SETTLE_S = 25.0
"""Until the leases of the processes that were replaced have expired."""
_ITEMS = Match(operations={"PutItem", "UpdateItem", "GetItem", "Query", "BatchGetItem", "TransactWriteItems"})


@dataclass
class Recording:
    """What a run leaves. A value is None where the process had no such series."""

    times: list[float] = field(default_factory=list)
    series: dict[str, list[float | None]] = field(default_factory=dict)
    faults: list[dict[str, Any]] = field(default_factory=list)
    commands: list[dict[str, Any]] = field(default_factory=list)

    def add(self, at: float, page: Mapping[str, float]) -> None:
        for name in page:
            self.series.setdefault(name, [None] * len(self.times))
        self.times.append(at)
        for name, values in self.series.items():
            values.append(page.get(name))

    def write(self, path: Path) -> int:
        """Write the series that panels and alerts use, and return the size.

        Series of an operation, kind or pattern that are always 0 are left out.
        """
        used = used_series(used_expressions())
        kept = {
            name: values
            for name, values in self.series.items()
            if name.partition("{")[0] in used and not _is_unused(name, values)
        }
        page = {
            "times": self.times,
            "faults": self.faults,
            "commands": self.commands,
            "series": dict(sorted(kept.items())),
        }
        data = lzma.compress(json.dumps(page, separators=(",", ":")).encode(), preset=9)
        path.write_bytes(data)
        return len(data)


def _is_unused(name: str, values: list[float | None]) -> bool:
    return any(label in name for label in ("operation=", "kind=", "pattern=")) and not any(values)


class Scraper:
    """Scrape all processes of an installation, as Prometheus does: `up` is 0 for one that does not answer."""

    def __init__(self, installation: FaultInstallation) -> None:
        self._installation = installation
        self.names: dict[InstallationProcess, tuple[str, str]] = {}
        self._down: set[tuple[str, str]] = set()

    def scrape(self) -> dict[str, float]:
        running = [
            (kind, process) for kind, each in self._installation.running.items() for process in list(each)
        ]
        for kind, process in running:
            if process not in self.names:
                self.names[process] = (kind, self._free_name(kind, {each for _, each in running}))
        page: dict[str, float] = {}
        alive = {process for _, process in running}
        for process, (named_kind, instance) in list(self.names.items()):
            labels = f'job="tidings",process="{named_kind}",instance="{instance}"'
            lines = _read(process) if process in alive else None
            if lines is None:
                page.setdefault(f"up{{{labels}}}", 0.0)
            else:
                page |= {_labelled(name, labels): value for name, value in lines}
                page[f"up{{{labels}}}"] = 1.0
        return page

    def _free_name(self, kind: str, running: set[InstallationProcess]) -> str:
        """Return a name whose process has ended: its replacement has the same address, as a restarted pod has."""
        taken = {name for process, (_, name) in self.names.items() if process in running}
        names = (f"{kind}-{number}" for number in range(1, 100))
        chosen = next(name for name in names if name not in taken)
        for process in [each for each, (_, name) in self.names.items() if name == chosen]:
            del self.names[process]
        return chosen


def _read(process: InstallationProcess) -> list[tuple[str, float]] | None:
    try:
        status, text = process.get("/metrics")
    except (OSError, http.client.HTTPException, AssertionError):
        return None
    lines = (line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#"))
    return [(name, float(value)) for name, _, value in lines] if status == http.HTTPStatus.OK else None


def _labelled(name: str, labels: str) -> str:
    start, brace, rest = name.partition("{")
    return f"{start}{{{labels},{rest}" if brace else f"{start}{{{labels}}}"


class FaultRecorder:
    """Inject one fault after the other while the load runs and the scraper reads."""

    def __init__(self, run: FaultRun, proxy: DynamoProxy, recording: Recording, receivers: Receivers) -> None:
        self._run, self._proxy, self._recording, self._receivers = run, proxy, recording, receivers
        self._sections = read_sections()

    async def inject_all(self) -> None:
        installation, fleet = self._run.installation, self._run.installation.processes.fleet
        changes = {"DYNAMO_ENDPOINT": self._proxy.url}
        await asyncio.sleep(_CALM_S)
        with self._step("DynamoDB slow"), self._proxy.fault(Delay(before_s=1.2), on=_ITEMS):
            await self._wait("DynamoDB slow", _FAULT_S)
        await asyncio.sleep(_CALM_S)
        with self._step("DynamoDB throttles"), self._proxy.fault(Throttle(), on=_ITEMS):
            await self._wait("DynamoDB throttles", _FAULT_S)
        await asyncio.sleep(_CALM_S)
        for engine, name in ((Engine.VALKEY, "Redis frozen"), (Engine.KAFKA, "Kafka frozen")):
            node = next(each.node.name for each in fleet.status() if each.node.engine is engine)
            with self._step(name), _paused(fleet, node):
                await self._wait(name, _FAULT_S)
            await asyncio.sleep(_CALM_S)
        with self._step("receivers fail"), self._receivers.failing():
            await self._wait("receivers fail", _LONG_S)
        await asyncio.sleep(_CALM_S)
        kills: tuple[tuple[ProcessKind, str, float], ...] = (
            ("relay", "relay killed", _FAULT_S),
            ("delivery", "delivery killed", _LONG_S),
        )
        for kind, name, lasts_s in kills:
            await installation.kill(installation.running[kind][0])
            with self._step(name):
                await self._wait(name, lasts_s)
            await installation.start(kind, **changes)
            await asyncio.sleep(_CALM_S)
        async with _stalled(installation.running["gateway"][0]):
            with self._step("gateway stalls"):
                await self._wait("gateway stalls", _FAULT_S)
        await asyncio.sleep(_CALM_S)
        await installation.renew("gateway", "gateway", **changes, GATEWAY_MAX_CONNECTIONS="8")
        with self._step("gateways full"):
            await self._wait("gateways full", _FAULT_S)

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        print(f"fault: {name}", flush=True)
        began = time.time()
        yield
        self._recording.faults.append({"name": name, "from": began, "to": time.time()})

    async def _wait(self, name: str, lasts_s: float) -> None:
        """Run the commands of the fault's runbooks in the second half of the time that it lasts."""
        until = time.monotonic() + lasts_s
        await asyncio.sleep(lasts_s / 2)
        for alert in (alert for alerts in ALERTS.values() for alert in alerts if alert.fault == name):
            for command in commands_of(alert, self._sections):
                await asyncio.to_thread(self._execute, alert, command)
        await asyncio.sleep(max(0.0, until - time.monotonic()))

    def _execute(self, alert: Alert, command: str) -> None:
        installation = self._run.installation
        process = installation.running[cast("ProcessKind", alert.process)][0]
        environment = installation.processes.environment(DYNAMO_ENDPOINT=self._proxy.url)
        environment |= {
            "ADMIN": f"127.0.0.1:{process.port}",
            "TENANT": installation.processes.space.tenant,
        }
        done = subprocess.run(
            ["timeout", "240", "bash", "-c", command],
            env=environment,
            cwd=installation.processes.directory,
            capture_output=True,
            text=True,
            check=False,
        )
        lines = len((done.stdout + done.stderr).splitlines())
        self._recording.commands.append(
            {
                "fault": alert.fault,
                "alert": alert.name,
                "command": command,
                "exit": done.returncode,
                "lines": lines,
            }
        )
        print(f"    {alert.name}: {command} -> exit {done.returncode}, {lines} lines", flush=True)


@contextmanager
def _paused(fleet: Any, node: str) -> Iterator[None]:
    fleet.pause(node)
    try:
        yield
    finally:
        fleet.resume(node)


@asynccontextmanager
async def _stalled(process: InstallationProcess) -> Any:
    """Stop a process for a second, again and again, as a machine without free CPU does."""

    async def stall() -> None:
        while True:
            process.popen.send_signal(signal.SIGSTOP)
            await asyncio.sleep(1)
            process.popen.send_signal(signal.SIGCONT)
            await asyncio.sleep(0.5)

    task = asyncio.ensure_future(stall())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        process.popen.send_signal(signal.SIGCONT)


@asynccontextmanager
async def _scraping(scraper: Scraper, recording: Recording) -> Any:
    async def scrape() -> None:
        while True:
            began = time.time()
            recording.add(round(began, 3), await asyncio.to_thread(scraper.scrape))
            await asyncio.sleep(max(0.1, _EVERY_S - (time.time() - began)))

    task = asyncio.ensure_future(scrape())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def record(processes: Any, recording: Recording) -> None:
    with ExitStack() as stack:
        proxy = stack.enter_context(DynamoProxy(processes.tables.url, record=False))
        async with installation_under_fault(processes, *_KINDS) as installation:
            await installation.renew(*_KINDS, DYNAMO_ENDPOINT=proxy.url, **_LOCAL)
            scraper, receivers = Scraper(installation), Receivers()
            stack.callback(receivers.close)
            await asyncio.sleep(_SETTLE_S)
            async with (
                installation.load(_SCENARIO) as load,
                using_the_api(installation, receivers),
                _scraping(scraper, recording),
            ):
                run = FaultRun(installation=installation, load=load)
                await FaultRecorder(run, proxy, recording, receivers).inject_all()


def main() -> None:
    parser = argparse.ArgumentParser(prog="just infra-record", description=__doc__)
    parser.add_argument("path", type=Path, help="The file to write.")
    path = parser.parse_args().path.absolute()
    fork_server.enable()
    recording = Recording()
    with engines(1) as processes:
        uvloop.run(record(processes, recording))
    size = recording.write(path)
    print(json.dumps({"scrapes": len(recording.times), "series": len(recording.series), "bytes": size}))


if __name__ == "__main__":
    main()
