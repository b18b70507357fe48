"""Send events through killed workers to endpoints that are fast, slow, failing or down, and check what they received.

Every endpoint receives all events of the tenant, so `--events` is the number of messages times four.
"""

import argparse
import asyncio
import json
import multiprocessing
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec
import uvloop
from aiohttp import web
from fixtures.installation_processes import SHORT_SESSION, InstallationProcesses, installation_on
from fixtures.use_cases import ANNA, BEN, UseCaseEnv
from standardwebhooks import Webhook, WebhookVerificationError

from load.webhook_checker import ReceivedEvent, check_events
from tidings.app.wiring.webhook_events import make_endpoint_store
from tidings.engines.jars import default_cache
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import Engine, StartRequest
from tidings.kernel.ids import ChatKey, new_ulid
from tidings.kernel.security import Secret
from tidings.messages.store import KafkaCommitPublisher
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.webhooks import rules
from tidings.webhooks.model import Endpoint, EndpointId, EndpointName, EndpointSettings, SigningSecret

ENDPOINTS = ("fast", "slow", "failing", "down")
SLOW_S = 0.02
FAILING_SHARE = 0.01
DOWN_EVERY_S, DOWN_S = 20.0, 4.0
VERIFIED_SHARE = 0.02
"""Signatures that the receiver verifies. All would cost as much as the rest of the run."""
KILL_EVERY_S = 8.0


@dataclass(frozen=True, kw_only=True)
class WebhookRun:
    """Results of a run. `repeated`: events that were accepted more than once, each counted once for each repetition."""

    events: int
    accepted: int
    repeated: int
    refused: int
    kills: int
    took_s: float
    broken: dict[str, str]


class Receiver:
    """The endpoints, in a process of their own."""

    def __init__(self, secret: str) -> None:
        self._verifier = Webhook(secret)
        self._began = time.monotonic()
        self.accepted: list[ReceivedEvent] = []
        self.distinct: dict[str, set[tuple[str, int]]] = {name: set() for name in ENDPOINTS}
        self.refused = 0

    async def receive(self, request: web.Request) -> web.Response:
        name, body = request.path[1:], await request.read()
        if name == "slow":
            await asyncio.sleep(SLOW_S)
        if self._fails(name):
            self.refused += 1
            return web.Response(status=503)
        event = msgspec.json.decode(body)
        entry = event["data"]["entry"]
        chat, sequence = event["data"]["chat"], entry["sequence"]
        is_signed = random.random() > VERIFIED_SHARE or self._is_signed(body, request)
        is_same = request.headers["webhook-id"] == event["id"]
        self.accepted.append(ReceivedEvent(name, event["id"], chat, sequence, is_signed and is_same))
        self.distinct[name].add((chat, sequence))
        return web.Response(status=204)

    def _fails(self, name: str) -> bool:
        if name == "failing":
            return random.random() < FAILING_SHARE
        return name == "down" and (time.monotonic() - self._began) % DOWN_EVERY_S < DOWN_S

    def _is_signed(self, body: bytes, request: web.Request) -> bool:
        try:
            self._verifier.verify(body, dict(request.headers))
        except WebhookVerificationError:
            return False
        return True


def serve(line: Connection, secret: str) -> None:
    """Answer the questions of the parent: `count` and `history`."""

    async def run() -> None:
        receiver, app = Receiver(secret), web.Application()
        app.router.add_post("/{name}", receiver.receive)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        line.send(runner.addresses[0][1])
        while True:
            match await asyncio.to_thread(line.recv):
                case "count":
                    line.send({name: len(found) for name, found in receiver.distinct.items()})
                case _:
                    line.send((receiver.accepted, receiver.refused))

    uvloop.run(run())


@contextmanager
def receiving(secret: str) -> Iterator[Connection]:
    mine, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=serve, args=(theirs, secret), daemon=True)
    process.start()
    try:
        yield mine
    finally:
        process.terminate()
        process.join()


async def add_endpoints(use_cases: UseCaseEnv, port: int, secret: str) -> None:
    store = make_endpoint_store(use_cases.client, use_cases.ring)
    for name in ENDPOINTS:
        at_ms = use_cases.clock.now_ms()
        await store.put(
            Endpoint(
                name=EndpointName(use_cases.tenant, EndpointId(new_ulid())),
                settings=EndpointSettings(url=f"http://127.0.0.1:{port}/{name}"),
                secrets=(SigningSecret(Secret(secret)),),
                version=1,
                created_at_ms=at_ms,
                updated_at_ms=at_ms,
            )
        )


async def send_messages(use_cases: UseCaseEnv, chats: int, messages: int) -> dict[str, int]:
    """Send the messages and return the highest sequence of each chat."""
    made = [await use_cases.group(BEN) for _ in range(chats)]
    heads: dict[str, int] = {}

    async def fill(chat: ChatKey) -> None:
        for _ in range(messages // chats):
            heads[chat.chat] = (await use_cases.send(chat, ANNA, "hello")).sequence

    await asyncio.gather(*map(fill, made))
    return heads


async def kill_workers(installation: InstallationProcesses, done: asyncio.Event) -> int:
    """Kill one of two workers at a time, until everything has arrived."""
    workers, kills = list(installation.ready("webhooks", "webhooks", FAILPOINTS_PAUSE_AT="")), 0
    while not done.is_set():
        try:
            await asyncio.wait_for(done.wait(), KILL_EVERY_S * random.uniform(0.5, 1.5))
        except TimeoutError:
            victim = workers.pop(0)
            victim.popen.kill()
            victim.exit_code()
            kills += 1
            workers.append(installation.run("webhooks", FAILPOINTS_PAUSE_AT=""))
    return kills


async def until_received(line: Connection, expected: int, within_s: float) -> None:
    began = time.monotonic()
    while time.monotonic() - began < within_s:
        line.send("count")
        counts = await asyncio.to_thread(line.recv)
        if all(count >= expected for count in counts.values()):
            return
        sys.stderr.write(f"{time.monotonic() - began:6.0f} s  {counts} of {expected}\n")
        await asyncio.sleep(2)


async def run(installation: InstallationProcesses, events: int, chats: int, within_s: float) -> WebhookRun:
    began, secret = time.monotonic(), rules.new_secret()
    config = KafkaConfig(bootstrap_servers=installation.kafka, topic_prefix=installation.space.topic_prefix)
    publisher = KafkaPublisher(config)
    with receiving(secret) as line:
        async with installation.use_cases() as use_cases:
            use_cases.on_commit = KafkaCommitPublisher(publisher).publish
            use_cases.open_process()
            await add_endpoints(use_cases, line.recv(), secret)
            done = asyncio.Event()
            killing = asyncio.create_task(kill_workers(installation, done))
            heads = await send_messages(use_cases, chats, events // len(ENDPOINTS))
            await until_received(line, sum(heads.values()), within_s)
            done.set()
            kills = await killing
        line.send("history")
        received, refused = await asyncio.to_thread(line.recv)
    await publisher.close()
    broken = check_events(heads, ENDPOINTS, received)
    distinct = len({(each.endpoint, each.chat, each.sequence) for each in received})
    return WebhookRun(
        events=sum(heads.values()) * len(ENDPOINTS),
        accepted=len(received),
        repeated=len(received) - distinct,
        refused=refused,
        kills=kills,
        took_s=round(time.monotonic() - began, 1),
        broken={rule.value: example for rule, example in broken.items()},
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--chats", type=int, default=200)
    parser.add_argument("--within-s", type=float, default=7_200.0)
    given: Any = parser.parse_args()
    engines = frozenset({Engine.DYNAMO, Engine.KAFKA, Engine.VALKEY})
    with tempfile.TemporaryDirectory() as home:
        fleet = LocalCluster(Path(home) / "engines", default_cache(), dies_with_us=True)
        fleet.start(StartRequest(engines=engines, dynamo="dynoxide", kafka_extra=SHORT_SESSION))
        try:
            directory = Path(home) / "processes"
            directory.mkdir()
            with installation_on(fleet, "dynoxide", directory) as installation:
                asyncio.run(installation.create_tenant())
                found = asyncio.run(run(installation, given.events, given.chats, given.within_s))
        finally:
            fleet.stop()
    sys.stdout.write(json.dumps(asdict(found)) + "\n")
    return 1 if found.broken else 0


if __name__ == "__main__":
    sys.exit(main())
