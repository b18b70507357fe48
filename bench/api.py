"""Measure `tidings run api` under ten times the first baseline: 120 messages and 1,200 reads per second.

The benchmark uses real processes on real engines (dynoxide and Valkey), users with tokens signed by their tenant's key,
and an open-loop load generator in this process. All share the machine, so it reports the CPU of each part as well as
the latencies.
"""

import argparse
import asyncio
import itertools
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import uvloop
from contract.telemetry.running import Running, eventually
from fixtures.engines import Dynamo, Namespace
from fixtures.fork_server import TIDINGS
from fixtures.tables import REGION, make_tables
from fixtures.topics import make_topics
from fixtures.use_cases import file_rows

from bench.http_load import Loader, Outcome, Request
from bench.report import print_figures, print_table
from tidings.accounts.jwt import sign_jws
from tidings.accounts.signing_keys import SigningKeyService
from tidings.accounts.store.keys import DynamoSigningKeyStore
from tidings.engines.jars import default_cache
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import DynamoKind, Engine, StartRequest
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import TenantId, new_ulid
from tidings.platform.dynamo.open_client import open_client
from tidings.tenants.model import TenantSettings
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore

USERS = 200
CHATS_EACH = 3
MESSAGES = 20
CONNECTIONS = 64
READS = {"history": 0.6, "chat list": 0.25, "one message": 0.15}
UNLIMITED = "100000000/s"
P99 = 0.99


@dataclass(frozen=True)
class Place:
    """The addresses of the running engines, and the directory in which the processes run."""

    directory: Path
    endpoint: str
    prefix: str
    redis: str
    kafka: str
    space: Namespace


@contextmanager
def engines(kind: DynamoKind) -> Iterator[tuple[Place, LocalCluster]]:
    with tempfile.TemporaryDirectory() as home:
        fleet = LocalCluster(Path(home), default_cache())
        fleet.start(
            StartRequest(engines=frozenset({Engine.DYNAMO, Engine.KAFKA, Engine.VALKEY}), dynamo=kind)
        )
        try:
            space, directory = Namespace(), Path(home) / "processes"
            directory.mkdir()
            url = f"http://{fleet.find('dynamo').node.address}"
            for tables in make_tables(Dynamo(kind, url), space.table_prefix):
                redis = f"redis://{fleet.find('valkey').node.address}"
                kafka = fleet.find("kafka-1").node.address
                make_topics(kafka, space)
                yield Place(directory, tables.url, tables.prefix, redis, kafka, space), fleet
        finally:
            fleet.stop()


@contextmanager
def serving(place: Place, processes: int) -> Iterator[Running]:
    settings = {
        "TIDINGS_INSTALLATION": "development",
        "TIDINGS_PROCESS_ADMIN_PORT": "0",
        "TIDINGS_DYNAMO_ENDPOINT": place.endpoint,
        "TIDINGS_DYNAMO_TABLE_PREFIX": place.prefix,
        "TIDINGS_DYNAMO_CAPACITY": "on_demand",
        "TIDINGS_KAFKA_BOOTSTRAP_SERVERS": place.kafka,
        "TIDINGS_KAFKA_TOPIC_PREFIX": place.space.topic_prefix,
        "TIDINGS_REDIS_URL": place.redis,
        "TIDINGS_REDIS_KEY_PREFIX": place.space.key_prefix,
        "TIDINGS_API_PORT": "0",
        "TIDINGS_API_CURSOR_SECRET": "secret of the benchmark",
    }
    # All requests come from one address and create chats at full speed, so rate limits must count but never reject.
    for kind in ("ADDRESS", "USER", "TENANT"):
        settings |= {f"TIDINGS_LIMITS_{kind}_RATE": UNLIMITED, f"TIDINGS_LIMITS_{kind}_BURST": "10000000"}
    words = [*TIDINGS, "run", "api", "--processes", str(processes)]
    environment = dict(os.environ) | settings
    process = Running(words, cwd=place.directory, environment=environment)
    # A delivery worker processes the commits, as in production, and uses its share of the machine.
    delivery = Running([*TIDINGS, "run", "delivery"], cwd=place.directory, environment=environment)
    try:
        eventually(lambda: len(process.events("process started")) == processes or None, "processes")
        yield process
    finally:
        delivery.close()
        process.close()


class World:
    """Users with tokens and chats, created through the API."""

    def __init__(self, tenant: str) -> None:
        self.tenant = TenantId(tenant)
        self.users = [f"user{n}" for n in range(USERS)]
        self.headers: dict[str, str] = {}
        self.chats: list[tuple[str, str, str]] = []
        self.chance = random.Random(7)  # noqa: S311 - a repeatable load

    async def make_tokens(self, place: Place) -> None:
        clock = SystemClock()
        async with open_client(place.endpoint, REGION, place.prefix) as client:
            rows = file_rows(client, place.directory)
            await TenantService(DynamoTenantStore(client, rows), clock).create(
                self.tenant, TenantSettings(name="bench")
            )
            signing = SigningKeyService(DynamoSigningKeyStore(client, rows), clock)
            pair = await signing.make(self.tenant, "Ed25519")
        now_s = clock.now_ms() // 1000
        for user in self.users:
            claims = {
                "tenant": self.tenant,
                "sub": user,
                "aud": "tidings",
                "iat": now_s,
                "exp": now_s + 7200,
            }
            self.headers[user] = f"Authorization: Bearer {sign_jws(claims, pair.private)}\r\n"

    async def make_chats(self, loader: Loader) -> None:
        pairs = [
            (one, self.users[(n + step) % USERS])
            for n, one in enumerate(self.users)
            for step in range(1, CHATS_EACH + 1)
        ]
        for some in itertools.batched(pairs, 32):
            self.chats += await asyncio.gather(*(self._chat(loader, *pair) for pair in some))

    async def _chat(self, loader: Loader, one: str, other: str) -> tuple[str, str, str]:
        body = json.dumps({"type": "direct", "user": other}).encode()
        _, answer = await self._ask(loader, one, "POST", "/v1/chats", body)
        chat: str = json.loads(answer)["id"]
        for number in range(MESSAGES):
            await self._ask(loader, (one, other)[number % 2], *self._send(chat, after=1 + number))
        return chat, one, other

    async def _ask(
        self, loader: Loader, user: str, method: str, path: str, body: bytes = b""
    ) -> tuple[int, bytes]:
        request = Request("prepare", method, path, self.headers[user], body)
        return await loader.ask(request, time.perf_counter())

    def _send(self, chat: str, after: int) -> tuple[str, str, bytes]:
        body = {"text": "x" * 100, "client_message_id": new_ulid(), "after": after}
        return "POST", f"/v1/chats/{chat}/messages", json.dumps(body).encode()

    def sends(self) -> Iterator[Request]:
        """Send messages, half of them with a position."""
        for number in itertools.count():
            chat, one, other = self.chance.choice(self.chats)
            user = self.chance.choice((one, other))
            method, path, body = self._send(chat, after=1 + MESSAGES)
            if number % 2:
                body = json.dumps({"text": "x" * 100, "client_message_id": new_ulid()}).encode()
            yield Request("send", method, path, self.headers[user], body)

    def reads(self) -> Iterator[Request]:
        kinds, weights = list(READS), list(READS.values())
        while True:
            chat, user, _ = self.chance.choice(self.chats)
            kind = self.chance.choices(kinds, weights)[0]
            path = {
                "history": f"/v1/chats/{chat}/messages?limit=20",
                "chat list": "/v1/chats?limit=20",
                "one message": f"/v1/messages/{chat}.{self.chance.randint(2, MESSAGES)}",
            }[kind]
            yield Request(kind, "GET", path, self.headers[user])


class Cpu:
    """Measure the CPU seconds of each part since its creation."""

    def __init__(self, parts: dict[str, list[int]]) -> None:
        self._parts = {
            name: [process for pid in pids for process in _family(pid)] for name, pids in parts.items()
        }
        # Without its children: all other processes of the benchmark are children of this one.
        self._parts["loader"] = [psutil.Process()]
        self._before = self._now()

    def _now(self) -> dict[str, float]:
        return {
            name: sum(sum(process.cpu_times()[:2]) for process in processes)
            for name, processes in self._parts.items()
        }

    def used(self) -> dict[str, float]:
        return {name: seconds - self._before[name] for name, seconds in self._now().items()}


def _family(pid: int) -> list[psutil.Process]:
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


async def under_load(place: Place, api: Running, fleet: LocalCluster, given: argparse.Namespace) -> None:
    world = World(place.space.tenant)
    await world.make_tokens(place)
    port = api.wait_for("listening")["port"]
    loader = Loader([port], CONNECTIONS)
    await loader.open()
    await world.make_chats(loader)
    loader.outcome = Outcome()
    parts = {
        "api": [api.popen.pid],
        "dynamo": [fleet.find("dynamo").pid.pid],
        "valkey": [fleet.find("valkey").pid.pid],
    }
    cpu = Cpu(parts)
    began = time.perf_counter()
    await asyncio.gather(
        loader.run(world.sends(), given.sends, given.seconds),
        loader.run(world.reads(), given.reads, given.seconds),
    )
    tell(loader.outcome, cpu.used(), time.perf_counter() - began, given)


def tell(outcome: Outcome, cpu: dict[str, float], took_s: float, given: argparse.Namespace) -> None:
    count = sum(len(each) for each in outcome.latencies.values())
    head = [
        f"{given.engine}, {given.processes} processes, {took_s:.1f} s",
        "count",
        "p50 ms",
        "p99 ms",
        "worst ms",
    ]
    rows = [
        [
            kind,
            len(outcome.latencies[kind]),
            *(f"{outcome.percentile_ms(kind, share):.1f}" for share in (0.5, P99, 1.0)),
        ]
        for kind in outcome.latencies
    ]
    print_table(head, rows)
    print_table(
        ["CPU", "share of a core", "us a request"],
        [(name, f"{used / took_s:.2f}", f"{used / count * 1e6:.0f}") for name, used in cpu.items()],
    )
    bad = {f"{kind} {status}": n for (kind, status), n in outcome.statuses.items() if status >= 300}  # noqa: PLR2004
    if bad:
        print_table(["unexpected answers", "count"], bad.items())
        sys.stdout.write(outcome.first_bad.decode(errors="replace") + "\n")
    outcome.latencies["all"] = [one for each in outcome.latencies.values() for one in each]
    print_figures(
        {
            "p50_ms": outcome.percentile_ms("all", 0.5),
            "p99_ms": outcome.percentile_ms("all", P99),
            "send_p99_ms": outcome.percentile_ms("send", P99),
            "per_s": count / took_s,
            "api_cpu_us": cpu["api"] / count * 1e6,
            "errors": sum(bad.values()),
        }
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--engine", choices=["dynoxide", "local"], default="dynoxide")
    options.add_argument("--processes", type=int, default=1)
    options.add_argument("--sends", type=float, default=120, help="a second")
    options.add_argument("--reads", type=float, default=1200, help="a second")
    options.add_argument("--seconds", type=float, default=60)
    given = options.parse_args()
    with engines(given.engine) as (place, fleet), serving(place, given.processes) as api:
        uvloop.run(under_load(place, api, fleet, given))


if __name__ == "__main__":
    main()
