"""Measure the cost of a broadcast and of reading unread counts while hundreds of broadcasts are live."""

import asyncio
import time
from pathlib import Path
from typing import NamedTuple

from fixtures.engines import Namespace
from fixtures.inbox_env import DEFAULT
from fixtures.notifications import NotificationEnv
from fixtures.tables import REGION, Tables

from tidings.inboxes.broadcasts import rules
from tidings.inboxes.broadcasts.model import LONGEST_MS, PARTS, BroadcastDraft, BroadcastLogId
from tidings.inboxes.broadcasts.service import BroadcastRequest
from tidings.inboxes.model import BroadcastState, InboxKey
from tidings.inboxes.queries import InboxQueries
from tidings.kernel.ids import UserId, new_ulid
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.open_client import open_client

MESSAGE = {"title": "New Feature Available", "body": "Check out our latest feature..."}
SEGMENTS = 10
READERS = 200
EXCEPTIONS = 200
AT_ONCE = 16


SHARED = ("inbox.follow_broadcasts", "inbox.read_segment")
"""Access patterns that a process reads for all readers: the log once a second, each segment every five seconds."""


class Looks(NamedTuple):
    """The cost of reading the counts.

    `calls` are DynamoDB calls for one reader, `shared_per_s` those for all readers. `cpu_share` is the share of a core
    that this process used. Near 1 the process is saturated and `per_s` is its limit; well below 1, `per_s` is the limit
    of the engine or of the machine.
    """

    cpu_ms: float
    calls: float
    per_s: float
    log_reads_per_s: float
    shared_per_s: float
    cpu_share: float


class Figures(NamedTuple):
    write_units: float
    everyone: Looks
    segments: Looks
    twice_as_many: Looks


def units(client: DynamoClient) -> float:
    return sum(count.value for count in client.ledger if count.name == "write_units")


def calls(client: DynamoClient, pattern: str | None = None) -> float:
    return sum(
        count.value
        for count in client.ledger
        if count.name == "calls" and (pattern is None or count.pattern == pattern)
    )


async def fill(at: NotificationEnv, count: int, segments: int) -> None:
    """Publish live broadcasts, half of them to segments if there are any."""
    log, ends_ms = BroadcastLogId(at.tenant, DEFAULT), at.clock.now_ms() + LONGEST_MS
    for number in range(segments):
        predicate = {"attribute": "group", "in": [f"g{number}", "all"]}
        await at.cases.broadcasts.segments.set_predicate(at.tenant, f"s{number}", predicate)
    for number in range(count):
        segment = f"s{number % segments}" if segments and number % 2 else None
        draft = BroadcastDraft(
            notification=new_ulid(), category=number % 3, segment=segment, expires_ms=ends_ms
        )
        await at.cases.broadcasts.appender.append(log, rules.decide_step(draft, PARTS))


async def settle(at: NotificationEnv) -> list[InboxKey]:
    """Create readers that have marked 200 broadcasts each."""
    owners = [at.owner(f"reader-{number:03d}") for number in range(READERS)]
    shelf = at.cases.marker._state.repository  # noqa: SLF001 - to fill it quickly
    for owner in owners:
        done = frozenset(range(2, 2 * EXCEPTIONS + 2, 2))
        await shelf.join(owner, BroadcastState(read=done, version=1, updated_ms=at.clock.now_ms()))
        await at.cases.broadcasts.profiles.set(at.tenant, UserId(owner.user), {"group": "all"}, 0, 0)
    return owners


async def look(at: NotificationEnv, looks: int) -> Looks:
    owners = await settle(at)
    read: InboxQueries = at.cases.queries
    await read.counts(owners[0])
    before, shared_before = calls(at.client), {name: calls(at.client, name) for name in SHARED}
    cpu, began = time.process_time(), time.perf_counter()
    todo = iter(range(looks))

    async def some() -> None:
        for number in todo:
            await read.counts(owners[number % READERS])

    await asyncio.gather(*(some() for _ in range(AT_ONCE)))
    used, took = time.process_time() - cpu, time.perf_counter() - began
    shared = {name: calls(at.client, name) - shared_before[name] for name in SHARED}
    own = calls(at.client) - before - sum(shared.values())
    return Looks(
        cpu_ms=used / looks * 1000,
        calls=own / looks,
        per_s=looks / took,
        log_reads_per_s=shared[SHARED[0]] / took,
        shared_per_s=sum(shared.values()) / took,
        cpu_share=used / took,
    )


async def run(tables: Tables, key_file: Path, looks: int) -> Figures:
    async def measured(count: int, segments: int) -> tuple[float, Looks]:
        async with open_client(tables.url, REGION, tables.prefix) as client:
            at = NotificationEnv(client, Namespace().tenant, key_file)
            await at.make_inbox()
            # The first broadcast creates the tenant's data key.
            await at.cases.broadcast.send(at.tenant, DEFAULT, BroadcastRequest(message=MESSAGE))
            await fill(at, count - 2, segments)
            before = units(client)
            await at.cases.broadcast.send(at.tenant, DEFAULT, BroadcastRequest(message=MESSAGE), "a-key")
            return units(client) - before, await look(at, looks)

    written, everyone = await measured(500, 0)
    _, segments = await measured(500, SEGMENTS)
    _, twice = await measured(1_000, SEGMENTS)
    return Figures(written, everyone, segments, twice)
