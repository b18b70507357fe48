"""Measure notifications to named users: cost and rate of delivery, and counts and lists of a user with 10,000.

Then measure broadcasts, in `broadcasts`.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import uvloop
from fixtures.engines import Namespace
from fixtures.inbox_env import DEFAULT
from fixtures.notifications import NotificationEnv
from fixtures.tables import REGION, Tables

from bench import broadcasts
from bench.append import engine
from bench.report import print_figures, print_table
from tidings.inboxes.model import NotificationId, NotificationRow
from tidings.inboxes.queries import NotificationFilter
from tidings.inboxes.sender import SendNotificationRequest
from tidings.jobs.model import ChunkRef
from tidings.kernel.ids import UserId, new_ulid
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.open_client import open_client

CHUNKS_AT_ONCE = 2
READS = 200
MESSAGE = {
    "title": "New Feature Available",
    "body": "Check out our latest feature...",
    "cta_uri": "myapp://new",
}


class Delivered(NamedTuple):
    per_s: float
    cpu_us: float
    units_per_user: float
    send_s: float


async def deliver(at: NotificationEnv, users: int) -> Delivered:
    """Send one notification to `users` users with the work of one process, without Kafka."""
    before = units(at.client)
    began = time.perf_counter()
    uids = [UserId(f"user-{number:06d}") for number in range(users)]
    await at.cases.sender.send(
        at.tenant, DEFAULT, SendNotificationRequest(user_ids=uids, message=MESSAGE, category="sport")
    )
    send_s, began, cpu = time.perf_counter() - began, time.perf_counter(), time.process_time()
    refs = iter(at.chunks.take())
    await asyncio.gather(*(work(at, refs) for _ in range(CHUNKS_AT_ONCE)))
    took, used = time.perf_counter() - began, time.process_time() - cpu
    return Delivered(users / took, used / users * 1e6, (units(at.client) - before) / users, send_s)


async def work(at: NotificationEnv, refs: Iterator[ChunkRef]) -> None:
    for ref in refs:
        await at.cases.worker.process(ref)


def units(client: DynamoClient) -> float:
    """Return the write units that the engine reports."""
    rows = [count for count in client.ledger if count.name == "measured_table_units"]
    writes = {count.pattern for count in client.ledger if count.name == "write_units" and count.value}
    return sum(count.value for count in rows if count.pattern in writes)


def calls(client: DynamoClient) -> float:
    return sum(count.value for count in client.ledger if count.name == "calls")


class Looked(NamedTuple):
    counts_calls: float
    counts_p99_ms: float
    list_p99_ms: float
    list_cpu_us: float
    unread_p99_ms: float
    mark_all_ms: float


async def look(at: NotificationEnv, notifications: int) -> Looked:
    """Fill the inbox of a user: half of the notifications are read, and some expire soon."""
    owner, shelf = at.owner("reader"), at.cases.marker._state.repository  # noqa: SLF001 - to fill it quickly
    ids = [NotificationId(new_ulid()) for _ in range(notifications)]
    latest_ms = at.clock.now_ms()
    far_ms = latest_ms + 10**9
    for number, notification in enumerate(ids):
        expires = far_ms + number if number % 10 == 0 else None
        row = NotificationRow(
            id=notification, category=number % 3, delivered_ms=latest_ms + number, expires_ms=expires
        )
        await shelf.add(owner, row)
    for _ in range(20):
        await at.given("reader", message=MESSAGE)
    await at.cases.queries.page(owner, 20)
    before = calls(at.client)
    counted = [await timed(at.cases.queries.counts(owner)) for _ in range(READS)]
    counts_calls = (calls(at.client) - before) / READS
    cpu = time.process_time()
    listed = [await timed(at.cases.queries.page(owner, 20)) for _ in range(READS)]
    list_cpu = (time.process_time() - cpu) / READS * 1e6
    unread = [
        await timed(at.cases.queries.page(owner, 20, NotificationFilter(is_unread=True)))
        for _ in range(READS)
    ]
    marked = await timed(at.cases.marker.read_all(owner))
    return Looked(counts_calls, p99(counted), p99(listed), list_cpu, p99(unread), marked)


async def timed(doing: object) -> float:
    began = time.perf_counter()
    await doing  # type: ignore[misc]  # any awaitable
    return (time.perf_counter() - began) * 1000


def p99(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)]


async def run(tables: Tables, users: int, notifications: int, key_file: Path) -> tuple[Delivered, Looked]:
    async with open_client(tables.url, REGION, tables.prefix, measure=True) as client:
        at = NotificationEnv(client, Namespace().tenant, key_file)
        await at.make_inbox()
        delivered = await deliver(at, users)
    async with open_client(tables.url, REGION, tables.prefix) as client:
        at = NotificationEnv(client, Namespace().tenant, key_file)
        await at.make_inbox()
        return delivered, await look(at, notifications)


def show_broadcasts(engine: str, wide: broadcasts.Figures) -> None:
    rows = [("write units of a broadcast to any number of users", f"{wide.write_units:.0f}")]
    kinds = (
        ("500 live", wide.everyone),
        ("500 live, half for segments", wide.segments),
        ("1,000 live, half for segments", wide.twice_as_many),
    )
    for name, looks in kinds:
        shown = (
            f"{looks.cpu_ms:.2f} ms CPU, {looks.calls:.2f} calls; {looks.per_s:,.0f} readers/s with "
            f"{looks.cpu_share:.0%} of a core; {looks.shared_per_s:.2f} calls/s for all readers, "
            f"{looks.log_reads_per_s:.2f} of the log"
        )
        rows.append((f"counts, 200 exceptions, {name}", shown))
    print_table([f"{engine}: broadcasts", "figure"], rows)
    print_figures(
        {
            "broadcast_write_units": wide.write_units,
            "counts_cpu_ms": max(wide.everyone.cpu_ms, wide.segments.cpu_ms),
            "wide_counts_reads": max(wide.everyone.calls, wide.segments.calls),
            "counts_growth": wide.twice_as_many.cpu_ms / wide.segments.cpu_ms,
            "log_reads_per_s": max(each.log_reads_per_s for _, each in kinds),
            "shared_reads_per_s": max(each.shared_per_s for _, each in kinds),
            "readers_per_s": wide.segments.per_s,
            "readers_cpu_share": wide.segments.cpu_share,
        }
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--engine", choices=["dynoxide", "local"], default="dynoxide")
    options.add_argument("--users", type=int, default=100_000)
    options.add_argument("--notifications", type=int, default=10_000)
    options.add_argument("--looks", type=int, default=10_000)
    options.add_argument("--only-broadcasts", action="store_true")
    given = options.parse_args()
    with engine(given.engine) as tables, tempfile.TemporaryDirectory() as home:
        key_file = Path(home) / "tidings.key"
        wide = uvloop.run(broadcasts.run(tables, key_file, given.looks))
        if given.only_broadcasts:
            show_broadcasts(given.engine, wide)
            return
        delivered, looked = uvloop.run(run(tables, given.users, given.notifications, key_file))
    show_broadcasts(given.engine, wide)
    print_table(
        [
            f"{given.engine}: {given.users:,} users, {given.notifications:,} notifications of one user",
            "figure",
        ],
        [
            ("users per second, one process", f"{delivered.per_s:,.0f}"),
            ("CPU of a delivery", f"{delivered.cpu_us:.0f} us"),
            ("write units per user, whole job", f"{delivered.units_per_user:.2f}"),
            ("commit of the send", f"{delivered.send_s:.1f} s"),
            ("DynamoDB calls for the counts", f"{looked.counts_calls:.2f}"),
            ("counts, p99", f"{looked.counts_p99_ms:.1f} ms"),
            ("a page of 20, p99", f"{looked.list_p99_ms:.1f} ms"),
            ("a page of 20, CPU", f"{looked.list_cpu_us:.0f} us"),
            ("a page of unread notifications, p99", f"{looked.unread_p99_ms:.1f} ms"),
            ("mark all read", f"{looked.mark_all_ms:.1f} ms"),
        ],
    )
    print_figures(
        {
            "direct_write_units_per_user": delivered.units_per_user,
            "direct_cpu_us": delivered.cpu_us,
            "direct_per_s": delivered.per_s,
            "send_s": delivered.send_s,
            "counts_reads": looked.counts_calls,
            "list_p99_ms": looked.list_p99_ms,
        }
    )


if __name__ == "__main__":
    main()
