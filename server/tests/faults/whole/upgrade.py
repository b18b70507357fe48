"""Upgrade an installation from one commit to another and back, process by process, while devices use it.

The order of the steps and their commands are read from docs/howto/upgrade.md. Three harnesses use the installation: one
of each version for chats, with its own SDK, and one of the new version for inboxes. The last line is JSON. Exits with 1 if
an entry was lost or duplicated, another guarantee was violated, a record could not be decoded, or a process failed.
"""

import argparse
import asyncio
import json
import re
import signal
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, get_args, override

import uvloop
from fixtures.installation_processes import Balancer, ProcessKind

from faults.whole.installation import FaultInstallation, passed
from faults.whole.report import machine
from faults.whole.versions import REPOSITORY, Version, VersionProcesses, installation_of

PAGE: Final = REPOSITORY / "docs/howto/upgrade.md"
RECORD: Final = REPOSITORY / "docs/benchmarks/upgrade.json"
RUNNING: Final[tuple[ProcessKind, ...]] = (
    *("api", "api", "gateway", "gateway"),
    *("delivery", "delivery", "relay", "notifications"),
)
_SHORT_S: Final = 90.0
_FULL_S: Final = 600.0
_QUIET_S: Final = 180.0
_MUTANT_QUIET_S: Final = 30.0
"""Clients of a mutant may never receive everything, so waiting longer finds nothing more."""
_MIXED_S: Final = 3.0
"""How long processes of both versions serve after each replacement."""
_MARGIN: Final = 1.25
"""A replacement or a command takes at most this many times longer than the start of all processes at once, also on a
busy machine."""
_UNDECODABLE: Final = "record cannot be decoded"
_SLOW: Final = "event loop is blocked"
"""Depends on the load of the machine. A process that stays blocked exits with 70, which is a fault."""
_STEP = re.compile(r"^\d+\. (.*?)(?=^\d+\. |\Z)", re.MULTILINE | re.DOTALL)
_FENCE = re.compile(r"^ *```sh\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_WAITING = re.compile(r"^(\S+-dead) .*?(\d+)$", re.MULTILINE)


class UpgradeStep(NamedTuple):
    """A step of the page: commands to run with the new version, or kinds of processes to replace in this order."""

    title: str
    commands: tuple[str, ...]
    kinds: tuple[ProcessKind, ...]


def upgrade_steps(page: str) -> list[UpgradeStep]:
    section = page.partition("\n## Steps\n")[2].partition("\n## ")[0]
    return [_step(text) for text in _STEP.findall(section)]


def _step(text: str) -> UpgradeStep:
    title = text.partition("**")[2].partition("**")[0]
    known: tuple[ProcessKind, ...] = get_args(ProcessKind.__value__)
    named = [word for word in re.findall(r"`(\w+)`", text) if title.startswith("Replace")]
    kinds = tuple(kind for word in dict.fromkeys(named) for kind in known if kind == word)
    return UpgradeStep(title, tuple(textwrap.dedent(each) for each in _FENCE.findall(text)), kinds)


class UpgradedInstallation(FaultInstallation):
    """An installation with a load balancer for the API as well."""

    processes: VersionProcesses

    def __init__(self, processes: VersionProcesses, sockets: Balancer, api: Balancer) -> None:
        super().__init__(processes, sockets)
        self._api = api

    @override
    def _update_addresses(self) -> None:
        super()._update_addresses()
        self._api.ports = [process.socket_port for process in self.running["api"]]

    def install(self, version: Version) -> None:
        """Use this version for all commands and all processes that start from now on."""
        self.processes = replace(self.processes, version=version)


@dataclass(kw_only=True)
class UpgradeFigures:
    """What the run found. `replaced`: processes. `mixed_s`: time in which processes of both versions were running."""

    upgrade_rounds: int = 0
    upgrade_replaced: int = 0
    upgrade_mixed_s: int = 0
    upgrade_deliveries: int = 0
    upgrade_lost: int = 0
    upgrade_doubled: int = 0
    upgrade_violations: int = 0
    upgrade_undecodable: int = 0


@dataclass
class UpgradeRun:
    """One run: the rollouts, and what is wrong."""

    installation: UpgradedInstallation
    old: Version
    new: Version
    figures: UpgradeFigures = field(default_factory=UpgradeFigures)
    faults: list[str] = field(default_factory=list)
    steps: Sequence[UpgradeStep] = field(default_factory=lambda: upgrade_steps(PAGE.read_text()))

    async def round_trip(self) -> None:
        """Upgrade as the page says, then go back in the opposite order. A mutant is caught on the way there, or missed."""
        began = time.monotonic()
        for step in self.steps:
            print_line(f"{self.old} -> {self.new}: {step.title}")
            self.installation.install(self.new)
            for commands in step.commands:
                await asyncio.to_thread(self.installation.processes.shell, commands)
            for kind in step.kinds:
                await self._replace_all(kind)
        self.installation.install(self.old)
        for step in () if self.new.mutant else reversed(self.steps):
            if step.kinds:
                print_line(f"{self.new} -> {self.old}: {step.title}")
            for kind in reversed(step.kinds):
                await self._replace_all(kind)
        self.figures.upgrade_rounds += 1
        self.figures.upgrade_mixed_s += round(time.monotonic() - began)

    async def _replace_all(self, kind: ProcessKind) -> None:
        for process in list(self.installation.running[kind]):
            await self.installation.start(kind)
            code = await self.installation.kill(process, signal.SIGTERM)
            if code:
                self.faults.append(f"{kind} exited with {code}: {process.tail()[-800:]}")
            self.figures.upgrade_replaced += 1
            await passed(_MIXED_S)

    def add_processes(self) -> None:
        """Count the records that a process could not decode, and report processes that exited unexpectedly."""
        processes = self.installation.processes
        errors: Counter[str] = Counter()
        for process in processes.started:
            version = processes.versions[process.popen.pid]
            events = [line["event"] for line in process.faults() if line["event"] != _SLOW]
            errors.update(f"{version}: {event}" for event in events)
            self.figures.upgrade_undecodable += len(process.events(_UNDECODABLE))
        for kind, running in self.installation.running.items():
            dead = [each for each in running if each.popen.poll() is not None]
            self.faults += [f"{kind} exited unexpectedly: {each.tail()[-800:]}" for each in dead]
        letters = dict(_WAITING.findall(processes.shell("tidings dead-letter list")))
        self.figures.upgrade_undecodable += sum(map(int, letters.values()))
        self.faults += [f"{count} log lines of errors: {event}" for event, count in errors.items()]
        if self.figures.upgrade_undecodable:
            self.faults.append(f"{self.figures.upgrade_undecodable} records could not be decoded")

    def add_verdict(self, name: str, verdict: dict[str, Any]) -> None:
        self.figures.upgrade_deliveries += verdict.get("deliveries", verdict.get("pushes", 0))
        self.figures.upgrade_lost += verdict.get("lost", 0)
        self.figures.upgrade_doubled += verdict.get("doubled", 0)
        self.figures.upgrade_violations += sum(verdict["breaches"].values())
        self.faults += [f"{name}: {rule}: {count}" for rule, count in verdict["breaches"].items()]


class HarnessProcess:
    """A harness of one version, which uses the installation for a given time and then checks the history."""

    def __init__(self, version: Version, name: str, report: Path) -> None:
        self.name = f"{name} of {version.commit[:12]}"
        self._version, self._report = version, report
        self._output = ""
        self._ending: asyncio.Task[int]

    async def start(self, *words: str) -> Self:
        """Start the harness and return when all its devices are connected."""
        process = await asyncio.create_subprocess_exec(
            str(self._version.bin / "tidings-harness"),
            *words,
            f"--report={self._report}",
            env=self._version.environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        assert process.stdout
        while b" for " not in (line := await process.stdout.readline()):
            self._output += line.decode()
            if not line:
                raise RuntimeError(f"{self.name}: {self._output}")
        self._ending = asyncio.create_task(self._read(process))
        return self

    async def _read(self, process: asyncio.subprocess.Process) -> int:
        assert process.stdout
        self._output += (await process.stdout.read()).decode()
        return await process.wait()

    @property
    def is_running(self) -> bool:
        return not self._ending.done()

    async def verdict(self) -> dict[str, Any]:
        await self._ending
        print_line(f"{self.name}:\n{self._output}")
        path = self._report / "verdict.json"
        if not path.exists():
            raise RuntimeError(f"{self.name} did not check its history.")
        found: dict[str, Any] = json.loads(path.read_text())
        return found


async def upgrade(processes: VersionProcesses, old: Version, new: Version, seconds: float) -> UpgradeRun:
    processes.shell("tidings tables apply && tidings topics apply")
    tenant, directory = processes.space.tenant, processes.directory
    processes.shell(f"tidings tenant create {tenant}")
    key = directory / "key.json"
    key.write_text(processes.shell(f"tidings tenant key new {tenant}"))
    issue = f"tidings tenant api-key new {tenant} --name=harness --scope=notifications"
    api_key = processes.shell(issue).split()[-1]
    async with Balancer() as sockets, Balancer() as api:
        installation = UpgradedInstallation(processes, sockets, api)
        run = UpgradeRun(installation, old, new)
        began = time.monotonic()
        await installation.start(*RUNNING)
        commands = sum(len(text.splitlines()) for step in run.steps for text in step.commands)
        each_s = _MARGIN * (time.monotonic() - began + _MIXED_S)
        directions = 1 if new.mutant else 2
        seconds = max(seconds, each_s * (directions * len(RUNNING) + commands))
        print_line(f"{len(RUNNING)} processes of {old} are ready; the load lasts {seconds:.0f} s")
        words = [
            *(f"--for={seconds:g}s", f"--tenant={tenant}", f"--key={key}"),
            *(f"--api=http://127.0.0.1:{api.port}", f"--socket=ws://127.0.0.1:{sockets.port}/v1/socket"),
        ]
        quiet_s = _MUTANT_QUIET_S if new.mutant else _QUIET_S
        chats = ("run", "small", f"--quiet-within={quiet_s:g}s", *words)
        inboxes = ("notifications", "run", f"--api-key={api_key}", *words)
        try:
            harnesses = await asyncio.gather(
                HarnessProcess(old, "chats", directory / "old").start(*chats),
                HarnessProcess(new, "chats", directory / "new").start(*chats),
                HarnessProcess(new, "inboxes", directory / "inboxes").start(*inboxes),
            )
            await _roll(run, harnesses, seconds)
            for harness in harnesses:
                run.add_verdict(harness.name, await harness.verdict())
            await asyncio.to_thread(run.add_processes)
        finally:
            for process in processes.started:
                process.close()
    return run


async def _roll(run: UpgradeRun, harnesses: Sequence[HarnessProcess], seconds: float) -> None:
    """Repeat round trips, as long as another one fits into the time of the harnesses. A mutant is installed once."""
    began, took = time.monotonic(), 0.0
    while not run.figures.upgrade_rounds or (
        not run.new.mutant and time.monotonic() + took < began + seconds
    ):
        started = time.monotonic()
        await run.round_trip()
        took = time.monotonic() - started
    if not all(harness.is_running for harness in harnesses):
        run.faults.append(
            f"a harness ended before the last round trip, which took {took:.0f} s: use --seconds"
        )


def print_line(line: str) -> None:
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {line}\n")
    sys.stdout.flush()


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="just upgrade-test", description=__doc__)
    parser.add_argument("old", metavar="FROM", help="Commit or tag of the installed version.")
    parser.add_argument("new", metavar="TO", help="Commit or tag of the version to install.")
    parser.add_argument("--short", action="store_true", help="One round trip.")
    parser.add_argument("--seconds", type=float, help="Duration of the load; round trips are repeated.")
    parser.add_argument(
        "--mutant", default="", help="Break a promise in all processes of TO, see `failpoints`."
    )
    parser.add_argument("--write", action="store_true", help=f"Write the record {RECORD.name}.")
    return parser.parse_args()


def main() -> int:
    options = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    old, new = Version.export(options.old), Version.export(options.new, options.mutant)
    seconds = options.seconds or (_SHORT_S if options.short else _FULL_S)
    with installation_of(old) as processes:
        run = uvloop.run(upgrade(processes, old, new, seconds))
    figures = asdict(run.figures)
    for fault in run.faults:
        print_line(f"fault: {fault}")
    if options.write:
        record = {
            "from": old.commit,
            "to": new.commit,
            "command": " ".join(["just upgrade-test", *sys.argv[1:]]),
            "machine": machine(),
            "date": time.strftime("%Y-%m-%d"),
            **figures,
            "faults": run.faults,
        }
        RECORD.write_text(json.dumps(record, indent=2) + "\n")
    sys.stdout.write(json.dumps(figures) + "\n")
    return 1 if run.faults else 0


if __name__ == "__main__":
    sys.exit(main())
