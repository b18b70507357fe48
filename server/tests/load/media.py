"""Upload, attach, redact and abandon files while API, media and delivery processes are killed at every step.

Then sweep, and compare table, bucket and messages. Files are small; the steps are those of large ones.
"""

import argparse
import asyncio
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import cycle
from typing import Any

import aiohttp
from fixtures.installation_processes import (
    InstallationProcess,
    InstallationProcesses,
    ProcessKind,
)
from fixtures.media_env import make_bucket

from load.media_checker import check_media
from load.media_client import GONE, MediaClients
from load.media_state import MediaState
from load.standalone import s3_url, standalone_installation
from tidings.engines.model import Engine

AHEAD_S, LIFE_S = 700, 720
"""The clock of media workers is ahead, so that uploads expire after 20 seconds, and the sweeper's grace period has passed."""
REACH_S = 12.0
"""How long to wait until a process reaches a step. Then the next step has its turn."""
AT_A_TIME = 24
REPORT_S = 10.0
ANY = ""
"""Kill at any moment instead of at a step."""
STEPS: Sequence[tuple[ProcessKind, str]] = (
    *(
        ("api", f"media.{step}")
        for step in ("multipart_started", "started", "joined", "completed", "discarded")
    ),
    *(
        ("media", f"media.{step}")
        for step in ("objects_written", "recorded", "original_deleted", "object_deleted")
    ),
    *(
        ("media", f"media.{step}")
        for step in ("lease_taken", "expired", "orphan_deleted", "multipart_aborted")
    ),
    ("media", "media.leftover_deleted"),
    *(("api", ANY), ("media", ANY), ("delivery", ANY)),
)


@dataclass(frozen=True, kw_only=True)
class MediaRun:
    """Results of a run. `kills`: by step. `refused`: requests, by code. `swept`: what the last sweeps found."""

    uploads: int
    attached: int
    deleted: int
    retries: int
    kills: dict[str, int]
    refused: dict[str, int]
    swept: dict[str, int]
    left: dict[str, int]
    took_s: float
    broken: dict[str, str]


@dataclass
class StepKiller:
    """Keeps two processes of each kind, and kills one at a time where it has just done a step."""

    installation: InstallationProcesses
    clients: MediaClients
    settings: Mapping[str, str]
    steps: Sequence[tuple[ProcessKind, str]]
    kills: Counter[str] = field(default_factory=Counter)
    rounds: int = 0
    done: asyncio.Event = field(default_factory=asyncio.Event)
    running: dict[ProcessKind, list[InstallationProcess]] = field(default_factory=dict)

    async def start(self) -> None:
        for kind in ("api", "media", "delivery"):
            self.running[kind] = await asyncio.to_thread(self._start, kind, 2 if kind != "delivery" else 1)
        self._note_ports()

    def _start(self, kind: ProcessKind, count: int = 1) -> list[InstallationProcess]:
        more = {"FAILPOINTS_CLOCK_OFFSET_S": str(AHEAD_S)} if kind == "media" else {}
        return self.installation.ready(*([kind] * count), **self.settings, **more)

    def _note_ports(self) -> None:
        self.clients.ports[:] = [process.socket_port for process in self.running["api"]]

    async def run(self) -> None:
        for number, (kind, step) in enumerate(cycle(self.steps), 1):
            if self.done.is_set():
                return
            victim = await self._reached(kind, step)
            if victim is not None:
                await self._kill(kind, victim)
                self.kills[step or f"{kind}, any"] += 1
            self.rounds = number // len(self.steps)

    async def _reached(self, kind: ProcessKind, step: str) -> InstallationProcess | None:
        """Return a process that waits at the step, or None if none of them reaches it."""
        processes = self.running[kind]
        if step == ANY:
            await asyncio.sleep(random.uniform(0, 1))
            return random.choice(processes)
        for process in processes:
            process.hold(step)
        try:
            return await self._first(step, processes)
        finally:
            for process in processes:
                process.go(step)

    async def _first(self, step: str, processes: Sequence[InstallationProcess]) -> InstallationProcess | None:
        until = time.monotonic() + REACH_S
        while time.monotonic() < until and not self.done.is_set():
            for process in processes:
                if (process.pauses / f"{step}.reached").exists():
                    process.popen.kill()  # before it is released
                    return process
            await asyncio.sleep(0.02)
        return None

    async def _kill(self, kind: ProcessKind, victim: InstallationProcess) -> None:
        self.running[kind].remove(victim)
        self._note_ports()
        victim.popen.kill()
        await asyncio.to_thread(victim.exit_code)
        self.running[kind] += await asyncio.to_thread(self._start, kind)
        self._note_ports()


async def upload_all(clients: MediaClients, killer: StepKiller, uploads: int, rounds: int) -> None:
    """Use files until there are enough of them, and every step has had its turn."""
    began, reported = time.monotonic(), 0.0

    def is_done() -> bool:
        nonlocal reported
        took_s = time.monotonic() - began
        if took_s > reported + REPORT_S:
            reported = took_s
            sys.stderr.write(
                f"{took_s:6.0f} s  {len(clients.files)} files, {sum(killer.kills.values())} kills\n"
            )
        return len(clients.files) >= uploads and killer.rounds >= rounds

    async def work() -> None:
        while not is_done():
            await clients.use_file()
        killer.done.set()

    async with asyncio.TaskGroup() as group:
        group.create_task(killer.run())
        for _ in range(AT_A_TIME):
            group.create_task(work())


async def run(
    installation: InstallationProcesses,
    s3: str,
    *,
    uploads: int,
    rounds: int = 1,
    steps: Sequence[tuple[ProcessKind, str]] = STEPS,
    sweep_interval_s: float = 5.0,
    mutant: str = "",
) -> MediaRun:
    began = time.monotonic()
    bucket = await asyncio.to_thread(make_bucket, s3, installation.space)
    settings = {name.removeprefix("TIDINGS_"): value for name, value in bucket.items()} | {
        "MEDIA_UPLOAD_LIFE_S": str(LIFE_S),
        "MEDIA_SWEEP_INTERVAL_S": str(sweep_interval_s),
        "FAILPOINTS_SMALL_FILES": "1",
        "LIMITS_TENANT_RATE": "100000/s",
        "LIMITS_TENANT_BURST": "100000",
        **({"FAILPOINTS_MUTANT": mutant} if mutant else {}),
    }
    users = [f"user{n}" for n in range(20)]
    timeout = aiohttp.ClientTimeout(total=30)
    async with aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(limit=100)) as session:
        clients = MediaClients(installation, session, users)
        killer = StepKiller(installation, clients, settings, steps)
        await killer.start()
        await clients.create_chats(10)
        await upload_all(clients, killer, uploads, rounds)
        async with MediaState.open(installation, s3, clients, mutant=mutant) as state:
            await state.erase(users[-1])
            await state.sweep_until_stable()
            final = await state.read()
    return MediaRun(
        uploads=len(clients.files),
        attached=sum(file.message is not None for file in clients.files),
        deleted=sum(file.is_gone for file in clients.files),
        retries=clients.retries,
        kills=dict(killer.kills),
        refused=dict(clients.refused),
        swept=asdict(state.swept),
        left={"rows": len(final.rows), "objects": len(final.objects), "messages": len(final.messages)},
        took_s=round(time.monotonic() - began, 1),
        broken={rule.value: example for rule, example in check_media(clients.files, final).items()},
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uploads", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=1, help="How often every step has its turn at least.")
    parser.add_argument("--sweep-interval-s", type=float, default=15.0)
    parser.add_argument("--mutant", default="", help="A mutant of the package `failpoints`.")
    given: Any = parser.parse_args()
    with standalone_installation(Engine.S3) as installation:
        found = asyncio.run(
            run(
                installation,
                s3_url(installation.fleet),
                uploads=given.uploads,
                rounds=given.rounds,
                sweep_interval_s=given.sweep_interval_s,
                mutant=given.mutant,
            )
        )
    sys.stdout.write(json.dumps(asdict(found)) + "\n")
    return 1 if found.broken or found.refused.keys() - GONE else 0


if __name__ == "__main__":
    sys.exit(main())
