"""An installation for `bench.api`: engines, API processes, and users with tokens and chats that exist already."""

import asyncio
import itertools
import json
import os
import random
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psutil
from contract.telemetry.running import Running, eventually
from fixtures.engines import Dynamo, Namespace
from fixtures.fork_server import TIDINGS
from fixtures.tables import REGION, make_tables
from fixtures.topics import make_topics
from fixtures.use_cases import file_rows

from bench.http_load import BAD, Loader, Request
from tidings.accounts.jwt import sign_jws
from tidings.accounts.signing_keys import SigningKeyService
from tidings.accounts.store.keys import DynamoSigningKeyStore
from tidings.engines.jars import default_cache
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import DynamoKind, Engine, StartRequest
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import TenantId, new_ulid
from tidings.platform.dynamo.open_client import open_client
from tidings.schema.topics.model import TOPICS
from tidings.tenants.model import MAX_MEMBERS, TenantSettings
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore

USERS = 200
LISTED = 30
"""Chats of the user whose chat list is counted."""
CHATS_EACH = 3
GROUPS = 5
MESSAGES = 20
CONNECTIONS = 64
READS = {"history": 0.6, "chat list": 0.25, "one message": 0.15}
UNLIMITED = "100000000/s"


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
                make_topics(kafka, space, TOPICS)
                yield Place(directory, tables.url, tables.prefix, redis, kafka, space), fleet
        finally:
            fleet.stop()


@contextmanager
def serving(
    place: Place, processes: int, python: str | None = None, *, adds_members: bool = False
) -> Iterator[Running]:
    """Run API processes, with the interpreter `python` if it is given, and a delivery worker.

    adds_members: run also the process whose jobs add members.
    """
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
    words = [python or TIDINGS[0], *TIDINGS[1:], "run", "api", "--processes", str(processes)]
    environment = dict(os.environ) | settings
    process = Running(words, cwd=place.directory, environment=environment)
    # A delivery worker processes the commits, as in production, and uses its share of the machine.
    others = [
        Running([*TIDINGS, "run", name], cwd=place.directory, environment=environment)
        for name in ("delivery", *(("notifications",) if adds_members else ()))
    ]
    try:
        eventually(lambda: len(process.events("process started")) == processes or None, "processes")
        yield process
    finally:
        for other in others:
            other.close()
        process.close()


def read_admin_pages(process: Running, path: str) -> list[str]:
    """Read a page of the admin port of each process that `process` started."""
    pages = []
    for line in process.events("process starting"):
        with urlopen(f"http://127.0.0.1:{line['admin_port']}{path}", timeout=5) as answer:
            pages.append(answer.read().decode())
    return pages


class World:
    """Users with tokens and chats, created through the API."""

    def __init__(self, tenant: str) -> None:
        self.tenant = TenantId(tenant)
        self.users = [f"user{n}" for n in range(USERS)]
        self.headers: dict[str, str] = {}
        self.chats: list[tuple[str, str, str]] = []
        self.large_group = ""
        self._zipf: list[float] = []
        self.chance = random.Random(7)  # noqa: S311 - a repeatable load

    async def make_tokens(self, place: Place) -> None:
        clock = SystemClock()
        async with open_client(place.endpoint, REGION, place.prefix) as client:
            rows = file_rows(client, place.directory)
            await TenantService(DynamoTenantStore(client, rows), clock).create(
                self.tenant, TenantSettings(name="bench", max_members=MAX_MEMBERS)
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

    async def prepare(self, loader: Loader) -> None:
        """Create the chats, once. All have the same number of messages."""
        if self.chats:
            return
        await self._make_chats(loader)
        owner, more = self.users[0], LISTED - 2 * CHATS_EACH
        await asyncio.gather(
            *(self._direct(loader, owner, self.users[USERS // 2 + n]) for n in range(more - GROUPS)),
            *(self._group(loader, owner, self.users[n + 1 : n + 3]) for n in range(GROUPS)),
        )

    def counted_pages(self) -> dict[str, str]:
        """Return the pages whose calls to DynamoDB are counted, which the first user may read."""
        return {
            "history_page": f"/v1/chats/{self.chats[0][0]}/messages?limit=20",
            "chat_list": f"/v1/chats?limit={LISTED}",
        }

    async def _make_chats(self, loader: Loader) -> None:
        pairs = [
            (one, self.users[(n + step) % USERS])
            for n, one in enumerate(self.users)
            for step in range(1, CHATS_EACH + 1)
        ]
        for some in itertools.batched(pairs, 32):
            self.chats += await asyncio.gather(*(self._chat(loader, *pair) for pair in some))

    async def _chat(self, loader: Loader, one: str, other: str) -> tuple[str, str, str]:
        chat = await self._direct(loader, one, other)
        for number in range(MESSAGES):
            await self._ask(loader, (one, other)[number % 2], *self._send(chat, after=1 + number))
        return chat, one, other

    async def _direct(self, loader: Loader, one: str, other: str) -> str:
        return await self._create(loader, one, {"type": "direct", "user": other})

    async def _group(self, loader: Loader, owner: str, members: list[str]) -> str:
        body = {"type": "group", "name": "group", "members": members, "client_message_id": new_ulid()}
        return await self._create(loader, owner, body)

    async def make_large_group(self, loader: Loader, members: int) -> None:
        """Create the group that most of the skewed load goes to, by a job. Its other members do nothing."""
        owner, *users = self.users
        others = [*users, *(f"member{n}" for n in range(members - USERS))]
        body = {"type": "group", "name": "large", "members": others, "client_message_id": new_ulid()}
        made = await self._asked(loader, owner, "POST", "/v1/chats", body)
        self.large_group = made["id"]
        while "job" in made:
            await asyncio.sleep(0.5)
            path = f"/v1/chats/{self.large_group}/member-jobs/{made['job']}"
            job = await self._asked(loader, owner, "GET", path)
            if job["state"] == "done":
                break
        for number in range(MESSAGES):
            await self._ask(loader, self.users[number], *self._send(self.large_group, after=1))

    async def _create(self, loader: Loader, user: str, body: Mapping[str, object]) -> str:
        return str((await self._asked(loader, user, "POST", "/v1/chats", body))["id"])

    async def _asked(
        self, loader: Loader, user: str, method: str, path: str, body: Mapping[str, object] | None = None
    ) -> dict[str, Any]:
        status, answer = await self._ask(
            loader, user, method, path, json.dumps(body).encode() if body else b""
        )
        if status >= BAD:
            raise RuntimeError(f"The API did not answer {method} {path}: {status} {answer[:500]!r}")
        found: dict[str, Any] = json.loads(answer)
        return found

    async def _ask(
        self, loader: Loader, user: str, method: str, path: str, body: bytes = b""
    ) -> tuple[int, bytes]:
        request = Request("prepare", method, path, self.headers[user], body)
        return await loader.ask(request, time.perf_counter())

    def _send(self, chat: str, after: int) -> tuple[str, str, bytes]:
        body = {"text": "x" * 100, "client_message_id": new_ulid(), "after": after}
        return "POST", f"/v1/chats/{chat}/messages", json.dumps(body).encode()

    def _pick(self, *, is_skewed: bool) -> tuple[str, str, str]:
        """Return a chat and two members: any, or by Zipf's law, so that a few chats and users have most of the load.

        The large group has the first rank.
        """
        if not is_skewed:
            return self.chance.choice(self.chats)
        if not self._zipf:
            self._zipf = list(itertools.accumulate(1 / (rank + 1) for rank in range(1 + len(self.chats))))
        rank = self.chance.choices(range(1 + len(self.chats)), cum_weights=self._zipf)[0]
        if rank:
            return self.chats[rank - 1]
        one, other = self.chance.sample(self.users, 2)
        return self.large_group, one, other

    def sends(self, *, is_skewed: bool = False) -> Iterator[Request]:
        """Send messages, half of them with a position."""
        for number in itertools.count():
            chat, one, other = self._pick(is_skewed=is_skewed)
            user = self.chance.choice((one, other))
            method, path, body = self._send(chat, after=1 + MESSAGES)
            if number % 2:
                body = json.dumps({"text": "x" * 100, "client_message_id": new_ulid()}).encode()
            yield Request("send", method, path, self.headers[user], body)

    def pages(self) -> Iterator[Request]:
        """Read the newest page of any chat."""
        while True:
            chat, user, _ = self._pick(is_skewed=False)
            yield Request("page", "GET", f"/v1/chats/{chat}/messages?limit=20", self.headers[user])

    def reads(self, *, is_skewed: bool = False) -> Iterator[Request]:
        kinds, weights = list(READS), list(READS.values())
        while True:
            chat, user, _ = self._pick(is_skewed=is_skewed)
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
