"""Measure webhooks: CPU time and rate of a worker for events that endpoints accept, and for queued events.

The worker reads commits as from Kafka and decrypts them. It sends them with signatures to a receiver in another process. It writes the
delivery log to DynamoDB and checkpoints to Redis. Kafka's consumer is not included.
"""

import argparse
import asyncio
import multiprocessing
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import batched
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import uvloop
from aiohttp import web
from fixtures.engines import Namespace
from fixtures.tables import REGION
from fixtures.use_cases import ANNA, BEN, UseCaseEnv
from fixtures.webhooks import WebhookEnv

from bench.api_world import Place, engines
from bench.report import print_figures, print_table
from tidings.delivery.store.checkpoints import RedisDeliveryCheckpoints
from tidings.kernel.ids import ChatKey
from tidings.kernel.network_policy import NetworkPolicy
from tidings.kernel.security import Secret
from tidings.messages.model import Entry
from tidings.platform.dynamo.open_client import open_client
from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.options import RedisOptions
from tidings.webhooks.store.http import TransportOptions, open_webhook_transport

CHATS = 100
BATCH = 200

type Commits = Sequence[tuple[ChatKey, Sequence[Entry]]]


class Measured(NamedTuple):
    cpu_us: float
    per_s: float


def receive(ready: Connection) -> None:
    """Run a receiver that accepts every event."""

    async def accept(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(status=204)

    async def serve() -> None:
        app = web.Application()
        app.router.add_post("/", accept)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        ready.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    uvloop.run(serve())


@contextmanager
def receiver() -> Iterator[str]:
    mine, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=receive, args=(theirs,), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{mine.recv()}/"
    finally:
        process.terminate()
        process.join()


async def write_messages(use_cases: UseCaseEnv, count: int) -> Commits:
    chats = [await use_cases.group(BEN) for _ in range(CHATS)]
    for number in range(count // CHATS):
        for chat in chats:
            await use_cases.send(chat, ANNA, f"Message {number}, with a text of some length to be sent.")
    return use_cases.commits


async def measure(env: WebhookEnv, commits: Commits) -> Measured:
    """Process the commits and write the delivery log. Returns the figures for one event."""
    cpu, began, before = time.process_time(), time.perf_counter(), env.stats.delivered
    for batch in batched(commits, BATCH):
        await env.handle(*batch)
    await env.recorder.flush()
    sent = env.stats.delivered - before
    if sent != len(commits):
        raise RuntimeError(f"{sent} of {len(commits)} events were delivered")
    return Measured((time.process_time() - cpu) / sent * 1e6, sent / (time.perf_counter() - began))


async def run(place: Place, url: str, count: int, key_file: Path) -> Measured:
    redis = await RedisClient.connect(RedisOptions.from_url(Secret(place.redis)))
    options = TransportOptions(network=NetworkPolicy.LOCAL)
    async with (
        open_client(place.endpoint, REGION, place.prefix) as client,
        open_webhook_transport(options) as transport,
    ):
        use_cases = UseCaseEnv(client, Namespace().tenant, key_file)
        env = WebhookEnv(
            use_cases,
            live_s=10.0,
            max_waiting=100_000,
            max_concurrent=8,
            cache_s=10.0,
            transport=transport,
            checkpoints=RedisDeliveryCheckpoints(redis, "webhooks"),
        )
        await env.endpoint(url)
        commits = await write_messages(use_cases, count)
        await measure(env, commits[: BATCH * 2])
        figures = await measure(env, commits[BATCH * 2 :])
    await redis.close()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000)
    given = parser.parse_args()
    with engines("dynoxide") as (place, _), receiver() as url, tempfile.TemporaryDirectory() as home:
        found = uvloop.run(run(place, url, given.events, Path(home) / "tidings.key"))
    print_table(
        ["webhooks", ""],
        [
            ("CPU time of an event, µs", f"{found.cpu_us:.0f}"),
            ("events a second, one process", f"{found.per_s:.0f}"),
        ],
    )
    print_figures({"webhook_cpu_us": found.cpu_us, "webhooks_per_s": found.per_s})


if __name__ == "__main__":
    main()
