"""The storm: 32 senders in 4 processes on one chat, through a proxy that misbehaves, with kill -9 and removals.

`python -m faults.storm.run --sends 100000 --engine dynoxide` is the full form; the tests run a short one.
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from fixtures.engines import Dynamo, Namespace
from fixtures.tables import REGION, make_tables
from fixtures.use_cases import ANNA, UseCaseEnv, by

from faults.proxy import (
    Between,
    Chance,
    Conflict,
    Delay,
    DropAnswer,
    DropRequest,
    DynamoProxy,
    HalfAnswer,
    InstalledFault,
    InternalError,
    Match,
    Throttle,
)
from faults.storm import checker
from faults.storm.history import read
from faults.storm.sender import Orders
from tidings.engines.jars import default_cache
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import DynamoKind, Engine, StartRequest
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.model import Entry
from tidings.platform.dynamo.open_client import open_client

BYTES_A_LINE = 23
WRITES = Match(operations={"PutItem", "TransactWriteItems"})


@dataclass
class Plan:
    """How much, how wild. `engine_kills` only for an engine whose acknowledged writes survive it."""

    sends: int = 1600
    senders: int = 32
    processes: int = 4
    kills: int = 4
    engine_kills: int = 0
    removals: int = 4
    chance: float = 0.01
    seed: int = 7
    mutant: str = ""
    deadline_s: float = 600.0


@dataclass
class Report:
    entries: int = 0
    acked: int = 0
    refused: int = 0
    tries: int = 0
    took_s: float = 0.0
    kills: int = 0
    engine_kills: int = 0
    removals: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    breaches: list[str] = field(default_factory=list)


@contextmanager
def weather(proxy: DynamoProxy, plan: Plan) -> Iterator[dict[str, InstalledFault]]:
    """Each fault strikes with its own seeded chance."""
    faults = {
        "answer dropped": (DropAnswer(), WRITES),
        "answer dropped, reset": (DropAnswer(reset=True), WRITES),
        "request dropped": (DropRequest(), WRITES),
        "half an answer": (HalfAnswer(), WRITES),
        "late request": (Delay(before_s=Between(0.0, 0.6, plan.seed)), WRITES),
        "late answer": (Delay(after_s=Between(0.0, 0.6, plan.seed)), WRITES),
        "throttled": (Throttle(), Match()),
        "conflict": (Conflict(), WRITES),
        "internal error": (InternalError(), WRITES),
    }
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(proxy.fault(fault, match, Chance(plan.chance, plan.seed + number)))
            for number, (name, (fault, match)) in enumerate(faults.items())
        }


class Storm:
    def __init__(self, plan: Plan, fleet: LocalCluster | None, url: str, prefix: str, home: Path) -> None:
        self.plan = plan
        self.fleet = fleet
        self.url, self.prefix, self.home = url, prefix, home
        self.key_file = home / "tidings.key"
        self.tenant = Namespace().tenant
        self.users = [f"u{n}" for n in range(plan.senders)]
        self.chance = random.Random(plan.seed)
        self.running: dict[int, subprocess.Popen[bytes]] = {}
        self.report = Report()

    async def run(self) -> Report:
        """Begin the chat, let it storm, hold what was heard against the log."""
        async with open_client(self.url, REGION, self.prefix) as calm:
            stage = UseCaseEnv(calm, self.tenant, self.key_file)
            chat = await stage.manage.group(stage.tenant, by(ANNA), "storm", [UserId(u) for u in self.users])
            with DynamoProxy(self.url, record=False) as proxy, weather(proxy, self.plan) as faults:
                began = time.monotonic()
                await self.blow(stage, chat, proxy.url)
                self.report.took_s = round(time.monotonic() - began, 1)
                self.report.faults = {name: fault.hits for name, fault in faults.items()}
            self.judge(await whole_log(stage, chat))
        return self.report

    async def blow(self, stage: UseCaseEnv, chat: ChatKey, url: str) -> None:
        deadline = time.monotonic() + self.plan.deadline_s
        for slot in range(self.plan.processes):
            self.start(slot, chat, url)
        trouble = self.trouble()
        try:
            while self.running:
                if time.monotonic() > deadline:
                    self.report.breaches.append(f"not done after {self.plan.deadline_s:g} s")
                    return
                await asyncio.sleep(0.05)
                self.reap()
                if trouble and self.progress() >= trouble[0][0]:
                    await self.make(trouble.pop(0)[1], stage, chat, url)
        finally:
            for process in self.running.values():
                process.kill()
                process.wait()

    def trouble(self) -> list[tuple[float, str]]:
        """What happens at which share of the work, spread evenly with some chance."""
        wanted = {"kill": self.plan.kills, "engine": self.plan.engine_kills, "remove": self.plan.removals}
        planned = [
            (min(0.95, max(0.02, (n + self.chance.random()) / count)), what)
            for what, count in wanted.items()
            for n in range(count)
        ]
        return sorted(planned)

    def progress(self) -> float:
        """The share of sends that were begun, from the sizes of the histories: cheap, and close enough."""
        lines = sum(path.stat().st_size for path in self.home.glob("*.jsonl")) / BYTES_A_LINE
        return lines / (2 * self.plan.sends)

    async def make(self, what: str, stage: UseCaseEnv, chat: ChatKey, url: str) -> None:
        if what == "kill":
            self.kill_one(chat, url)
        elif what == "engine":
            assert self.fleet is not None
            self.fleet.kill("dynamo")
            self.fleet.restart("dynamo")
            self.report.engine_kills += 1
        else:
            await self.remove_and_take_back(stage, chat)

    def kill_one(self, chat: ChatKey, url: str) -> None:
        if not self.running:
            return
        slot = self.chance.choice(sorted(self.running))
        process = self.running.pop(slot)
        process.kill()
        process.wait()
        self.report.kills += 1
        self.start(slot, chat, url)

    async def remove_and_take_back(self, stage: UseCaseEnv, chat: ChatKey) -> None:
        user = UserId(self.users[self.report.removals % len(self.users)])
        await insist(lambda: stage.manage.remove(chat, by(ANNA), user))
        self.report.removals += 1
        await asyncio.sleep(0.2)
        await insist(lambda: stage.manage.add(chat, by(ANNA), [user]))

    def start(self, slot: int, chat: ChatKey, url: str) -> None:
        orders = Orders(
            url=url,
            prefix=self.prefix,
            tenant=self.tenant,
            chat=chat.chat,
            users=self.users[slot :: self.plan.processes],
            sends=self.plan.sends // self.plan.senders,
            history=str(self.home),
            key_file=str(self.key_file),
            seed=self.plan.seed + len(self.running),
            mutant=self.plan.mutant,
        )
        command = [sys.executable, "-m", "faults.storm.sender", json.dumps(asdict(orders))]
        self.running[slot] = subprocess.Popen(command, cwd=Path(__file__).parents[2])

    def reap(self) -> None:
        for slot, process in list(self.running.items()):
            code = process.poll()
            if code is not None:
                del self.running[slot]
                if code != 0:
                    self.report.breaches.append(f"a sender process ended with {code}")

    def judge(self, entries: Sequence[Entry]) -> None:
        heard = checker.gather(told for path in self.home.glob("*.jsonl") for told in read(path))
        self.report.entries = len(entries)
        self.report.acked = sum(bool(about.acks) for about in heard.values())
        self.report.refused = sum(bool(about.refusals) for about in heard.values())
        self.report.tries = sum(about.tries for about in heard.values())
        self.report.breaches += checker.violations(entries, heard)


async def insist(doing: Callable[[], Awaitable[None]]) -> None:
    """Through a restart of the engine."""
    while True:
        try:
            return await doing()
        except TidingsError as error:
            if not error.retryable:
                raise
        await asyncio.sleep(0.05)


async def whole_log(stage: UseCaseEnv, chat: ChatKey) -> list[Entry]:
    entries: list[Entry] = []
    while part := await stage.reader.range(chat, len(entries), 10**12, 1000, newest_first=False):
        entries += part
    return entries


def storm(plan: Plan, engine: str, *, on_disk: bool) -> Report:
    with tempfile.TemporaryDirectory() as home:
        fleet = LocalCluster(Path(home) / "engines", default_cache())
        kind: DynamoKind = "dynoxide" if engine == "dynoxide" else "local"
        fleet.start(StartRequest(engines=frozenset({Engine.DYNAMO}), dynamo=kind, on_disk=on_disk))
        try:
            url = f"http://{fleet.find('dynamo').node.address}"
            for tables in make_tables(Dynamo(kind, url), Namespace().table_prefix):
                told = Path(home) / "told"
                told.mkdir()
                return asyncio.run(Storm(plan, fleet, tables.url, tables.prefix, told).run())
        finally:
            fleet.stop()
    raise AssertionError("no tables")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sends", type=int, default=100_000)
    options.add_argument("--engine", choices=["local", "dynoxide"], default="dynoxide")
    options.add_argument("--kills", type=int, default=40)
    options.add_argument("--engine-kills", type=int, default=0)
    options.add_argument("--removals", type=int, default=60)
    options.add_argument("--seed", type=int, default=7)
    given = vars(options.parse_args())
    engine = given.pop("engine")
    plan = Plan(**given, deadline_s=3600)
    report = storm(plan, engine, on_disk=plan.engine_kills > 0)
    print(
        json.dumps({"engine": engine} | asdict(report) | {"kinds": Counter(b[:20] for b in report.breaches)})
    )


if __name__ == "__main__":
    main()
