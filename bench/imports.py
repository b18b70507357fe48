"""Measure `tidings import run` without its start: validation, then sealing and writing, on an empty engine."""

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import uvloop
from fixtures.engines import Namespace
from fixtures.tables import REGION, Tables
from fixtures.use_cases import file_key_ring, user_key_ring

from bench.append import engine
from bench.report import Spread, print_figures, print_table
from tidings.accounts.store.users import DynamoUserStore
from tidings.accounts.users import UserService
from tidings.app.wiring.imports import ProductChecks, build_import_deps
from tidings.imports.importer import Importer
from tidings.imports.reader import read_lines
from tidings.imports.validation import ImportValidator
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import TenantId, initial_epoch
from tidings.platform.dynamo.open_client import open_client

USERS = 200
MEMBERS = 10
TEXT = "x" * 100
START = datetime(2020, 1, 1, tzinfo=UTC)


class Run(NamedTuple):
    per_s: float
    cpu_us: float
    validated_per_s: float


def lines(chats: int, messages: int) -> Iterator[Mapping[str, object]]:
    yield {"type": "import", "version": 1, "source": "bench"}
    yield from ({"type": "user", "id": f"u{n}"} for n in range(USERS))
    for chat in range(chats):
        name = f"C{chat}"
        users = [f"u{(chat + n) % USERS}" for n in range(MEMBERS)]
        yield {"type": "chat", "id": name, "kind": "group", "name": name, "created_at": START.isoformat()}
        yield from ({"type": "member", "chat": name, "user": user} for user in users)
        for n in range(messages):
            at = (START + timedelta(seconds=n)).isoformat()
            author = users[n % MEMBERS]
            yield {"type": "message", "chat": name, "id": f"m{n}", "user": author, "at": at, "text": TEXT}


async def measure(tables: Tables, path: Path, count: int) -> Run:
    """Import a file into a new tenant, with keys and sealing as in production."""
    clock = SystemClock()
    async with open_client(tables.url, REGION, tables.prefix) as client:
        ring = file_key_ring(client, path.parent)
        keys = user_key_ring(client, ring)
        users = UserService(DynamoUserStore(client, ring, keys), clock)
        tenant = TenantId(Namespace().tenant)
        deps = build_import_deps(client, tenant, keys, users, clock=clock, epoch=initial_epoch)
        began = time.perf_counter()
        report = ImportValidator(ProductChecks(), clock.now_ms()).validate(read_lines([path]))
        validated = time.perf_counter() - began
        if report.problem_count:
            raise SystemExit(str(report.problems))
        began, cpu = time.perf_counter(), time.process_time()
        done = await Importer(deps, tenant).run(read_lines([path]))
        took, used = time.perf_counter() - began, time.process_time() - cpu
    if done.messages != count:
        raise SystemExit(f"{done.messages} of {count} messages were imported")
    return Run(count / took, used / count * 1e6, count / validated)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--engine", choices=["dynoxide", "local"], default="dynoxide")
    options.add_argument("--count", type=int, default=40_000)
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    shapes = {"one chat": (1, given.count), "chats of 50 messages": (given.count // 50, 50)}
    runs: dict[str, list[Run]] = {name: [] for name in shapes}
    with engine(given.engine) as tables, tempfile.TemporaryDirectory() as home:
        for name, (chats, messages) in shapes.items():
            path = Path(home) / f"{chats}.jsonl"
            path.write_text("".join(json.dumps(line) + "\n" for line in lines(chats, messages)))
            for _ in range(given.rounds):
                runs[name].append(uvloop.run(measure(tables, path, chats * messages)))
    rate = {name: Spread(tuple(run.per_s for run in some)) for name, some in runs.items()}
    cpu = {name: Spread(tuple(run.cpu_us for run in some)) for name, some in runs.items()}
    checked = {name: Spread(tuple(run.validated_per_s for run in some)) for name, some in runs.items()}
    print_table(
        [f"{given.engine}, {given.rounds} rounds", "messages/s", "CPU µs each", "validated/s"],
        [(name, rate[name], cpu[name], checked[name]) for name in runs],
    )
    one, many = rate.values()
    print_figures(
        {
            "one_chat_per_s": one.median,
            "many_chats_per_s": many.median,
            "cpu_us": next(iter(cpu.values())).median,
            "validated_per_s": next(iter(checked.values())).median,
            "max_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
    )


if __name__ == "__main__":
    main()
