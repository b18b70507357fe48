"""Send events through killed workers to endpoints that are fast, slow, failing or down, and check what they received.

Every endpoint receives all events of the tenant, so `--events` is the number of messages times that of the endpoints.
"""

import argparse
import asyncio
import json
import multiprocessing
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import batched
from math import inf
from multiprocessing.connection import Connection
from typing import Any

import msgspec
import uvloop
from aiohttp import web
from fixtures.installation_processes import InstallationProcesses
from fixtures.use_cases import ANNA, BEN, UseCaseEnv
from standardwebhooks import Webhook, WebhookVerificationError

from load.standalone import standalone_installation
from load.webhook_checker import ReceivedEvent, check_events
from tidings.app.wiring.webhook_events import make_endpoint_store
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import ChatKey, new_ulid
from tidings.kernel.security import Secret
from tidings.messages.store import KafkaCommitPublisher
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.webhooks import rules
from tidings.webhooks.model import Endpoint, EndpointId, EndpointName, EndpointSettings, SigningSecret
from tidings.webhooks.store import DynamoWebhookQueue

ENDPOINTS = ("fast", "slow", "failing", "down")
SLOW_S = 0.02
FAILING_SHARE = 0.01
DOWN_EVERY_S, DOWN_S = 20.0, 4.0
VERIFIED_SHARE = 0.02
"""Signatures that the receiver verifies. All would cost as much as the rest of the run."""
SENT_AT_A_TIME = 10
"""Messages of one chat that are sent at the same time: they share an append."""
FIRST_KILL_S, KILL_EVERY_S = 0.5, 8.0
"""The first worker is killed while messages are still sent: a short run would otherwise end before its first kill."""
RETRY_EVERY_S = 30.0
"""How often everything that waits is tried again at the end. Automatic attempts would take days."""
WORKER = {"FAILPOINTS_PAUSE_AT": "", "WEBHOOKS_TIMEOUT_S": "3"}
"""A short timeout: the claims and leases of a killed worker last as long as its requests may."""


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
        self.distinct: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
        self.refused = 0

    async def receive(self, request: web.Request) -> web.Response:
        name, body = request.path[1:], await request.read()
        kind = name.partition("-")[0]
        if kind == "slow":
            await asyncio.sleep(SLOW_S)
        if self._fails(kind):
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

    def _fails(self, kind: str) -> bool:
        if kind == "failing":
            return random.random() < FAILING_SHARE
        return kind == "down" and (time.monotonic() - self._began) % DOWN_EVERY_S < DOWN_S

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


def endpoint_names(of_each: int) -> list[str]:
    return [f"{kind}-{number}" for kind in ENDPOINTS for number in range(of_each)]


async def add_endpoints(
    use_cases: UseCaseEnv, port: int, secret: str, names: Sequence[str]
) -> list[EndpointName]:
    store, made = make_endpoint_store(use_cases.client, use_cases.ring), list[EndpointName]()
    for name in names:
        at_ms = use_cases.clock.now_ms()
        made.append(EndpointName(use_cases.tenant, EndpointId(new_ulid())))
        await store.put(
            Endpoint(
                name=made[-1],
                settings=EndpointSettings(url=f"http://127.0.0.1:{port}/{name}"),
                secrets=(SigningSecret(Secret(secret)),),
                version=1,
                created_at_ms=at_ms,
                updated_at_ms=at_ms,
            )
        )
    return made


async def send_messages(use_cases: UseCaseEnv, chats: int, messages: int, send_s: float) -> dict[str, int]:
    """Send the messages, some of each chat at a time, and return the highest sequence of each chat. Stop after `send_s`."""
    until = time.monotonic() + send_s
    made = [await use_cases.group(BEN) for _ in range(chats)]
    heads: dict[str, int] = {}

    async def fill(chat: ChatKey) -> None:
        for some in batched(range(messages // chats), SENT_AT_A_TIME):
            if time.monotonic() > until:
                return
            after = heads.get(chat.chat, 1)
            sent = await asyncio.gather(*(send_one(use_cases, chat, after) for _ in some))
            heads[chat.chat] = max(sent)

    await asyncio.gather(*map(fill, made))
    return heads


async def send_one(use_cases: UseCaseEnv, chat: ChatKey, after: int) -> int:
    """Send a message as an SDK does, with the same key until it is acknowledged. Return its sequence."""
    key = new_ulid()
    while True:
        try:
            return (await use_cases.send(chat, ANNA, "hello", key, after=after)).sequence
        except TidingsError as error:
            if not error.retryable:
                raise
            await asyncio.sleep(random.uniform(0.1, 1.0))


async def kill_workers(installation: InstallationProcesses, done: asyncio.Event, kill_every_s: float) -> int:
    """Kill one of two workers at a time, until everything has arrived."""
    workers, kills, wait_s = list(installation.ready("webhooks", "webhooks", **WORKER)), 0, FIRST_KILL_S
    while not done.is_set():
        try:
            await asyncio.wait_for(done.wait(), wait_s)
        except TimeoutError:
            victim = workers.pop(0)
            victim.popen.kill()
            victim.exit_code()
            kills, wait_s = kills + 1, kill_every_s * random.uniform(0.5, 1.5)
            # The next kill waits for the new worker: on a busy machine, it would otherwise be killed while it starts.
            workers += await asyncio.to_thread(installation.ready, "webhooks", **WORKER)
    return kills


async def until_received(
    line: Connection, expected: int, endpoints: int, within_s: float, retry: Callable[[], Awaitable[None]]
) -> None:
    """Wait until every endpoint has all events. Retry what waits now and then, as an operator does after an outage."""
    began = time.monotonic()
    retry_at = began + RETRY_EVERY_S
    while time.monotonic() - began < within_s:
        line.send("count")
        counts = await asyncio.to_thread(line.recv)
        if len(counts) == endpoints and min(counts.values()) >= expected:
            return
        kinds = Counter[str]()
        for name, count in counts.items():
            kinds[name.partition("-")[0]] += count
        sys.stderr.write(f"{time.monotonic() - began:6.0f} s  {dict(kinds)} of {expected * endpoints}\n")
        if time.monotonic() > retry_at:
            retry_at = time.monotonic() + RETRY_EVERY_S
            await retry()
        await asyncio.sleep(2)


async def run(
    installation: InstallationProcesses,
    events: int,
    chats: int,
    within_s: float,
    *,
    kill_every_s: float = KILL_EVERY_S,
    send_s: float = inf,
    of_each: int = 1,
) -> WebhookRun:
    """`of_each`: endpoints of each kind."""
    began, secret, names = time.monotonic(), rules.new_secret(), endpoint_names(of_each)
    config = KafkaConfig(bootstrap_servers=installation.kafka, topic_prefix=installation.space.topic_prefix)
    publisher = KafkaPublisher(config)
    with receiving(secret) as line:
        async with installation.use_cases() as use_cases:
            use_cases.on_commit = KafkaCommitPublisher(publisher).publish
            use_cases.open_process()
            endpoints = await add_endpoints(use_cases, line.recv(), secret, names)
            queue = DynamoWebhookQueue(use_cases.client, use_cases.clock)

            async def retry() -> None:
                with suppress(TidingsError):
                    for endpoint in endpoints:
                        await queue.retry_all(endpoint, use_cases.clock.now_ms())

            done = asyncio.Event()
            killing = asyncio.create_task(kill_workers(installation, done, kill_every_s))
            heads = await send_messages(use_cases, chats, events // len(names), send_s)
            await until_received(line, sum(heads.values()), len(names), within_s, retry)
            done.set()
            kills = await killing
        line.send("history")
        received, refused = await asyncio.to_thread(line.recv)
    await publisher.close()
    broken = check_events(heads, names, received)
    distinct = len({(each.endpoint, each.chat, each.sequence) for each in received})
    return WebhookRun(
        events=sum(heads.values()) * len(names),
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
    parser.add_argument("--of-each", type=int, default=5, help="Endpoints of each kind; at most 5.")
    parser.add_argument("--within-s", type=float, default=7_200.0)
    parser.add_argument("--send-s", type=float, default=inf, help="Stop sending after this time.")
    parser.add_argument("--kill-every-s", type=float, default=KILL_EVERY_S)
    given: Any = parser.parse_args()
    with standalone_installation() as installation:
        found = asyncio.run(
            run(
                installation,
                given.events,
                given.chats,
                given.within_s,
                kill_every_s=given.kill_every_s,
                send_s=given.send_s,
                of_each=given.of_each,
            )
        )
    sys.stdout.write(json.dumps(asdict(found)) + "\n")
    return 1 if found.broken else 0


if __name__ == "__main__":
    sys.exit(main())
