"""Compare durable sends through `messages.send` with plain conditional puts: same client, engine and run."""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import uvloop
from fixtures.engines import Dynamo, Namespace
from fixtures.tables import REGION, Tables, make_tables

from bench.report import Spread, print_figures, print_table
from tidings.app.wiring.chats import build_chat_store
from tidings.chats.commands import ChatCommands
from tidings.chats.model import MemberStatus
from tidings.chats.rules import ChatAction, check_permission
from tidings.engines.jars import default_cache
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import Engine, StartRequest
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey, ClientKey, TenantId, UserId, initial_epoch, new_ulid
from tidings.messages.model import Entry, EntryKind
from tidings.messages.ports import AppendDeps
from tidings.messages.sender import Appender, Content, MessageSender
from tidings.messages.store import DynamoEditStore, DynamoMessageLog
from tidings.messages.store.entry_items import entry_item
from tidings.messages.store.log import ABSENT
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.open_client import open_client
from tidings.schema.tables.patterns import messages as patterns
from tidings.tenants.key_ring import KeyPolicy, KeyRing
from tidings.tenants.kms import FileKms
from tidings.tenants.store import DynamoKeyStore, DynamoUserKeyStore
from tidings.tenants.user_keys import UserKeyPolicy, UserKeyRing

CHATS = 256
IN_FLIGHT = 64
TEXT = "x" * 100
KEYS_MADE = 500_000

type Work = Callable[[int], Awaitable[object]]


class Run(NamedTuple):
    per_s: float
    cpu_us: float


class AppendPaths:
    """One process with cached chats, and the same number of partition keys for plain puts.

    Content is sealed as in production. Clients create the idempotency keys, so these exist before the measurement.
    """

    def __init__(self, client: DynamoClient, tenant: str, key_file: Path) -> None:
        self.client = client
        self.tenant = TenantId(tenant)
        rows, log = (
            build_chat_store(client, SystemClock(), initial_epoch),
            DynamoMessageLog(client, SystemClock()),
        )
        appends = Appender(AppendDeps(log, rows.member_status, SystemClock(), epoch=initial_epoch))
        self.manage = ChatCommands(rows, appends)
        tenants = KeyRing(DynamoKeyStore(client), FileKms(key_file), SystemClock(), KeyPolicy())
        keys = UserKeyRing(DynamoUserKeyStore(client), tenants, SystemClock(), UserKeyPolicy())
        self.sender = MessageSender(
            appends, DynamoEditStore(client), keys=keys, may_send=may_send, clock=SystemClock()
        )
        self.client_keys = map(ClientKey, iter([new_ulid() for _ in range(KEYS_MADE)]))
        self.chats: list[ChatKey] = []
        self.bare_heads = [0] * (CHATS + 1)
        self.positions = [1] * CHATS

    async def prepare(self) -> None:
        pairs = [(UserId(f"a{n}"), UserId(f"b{n}")) for n in range(CHATS)]
        self.chats = list(await asyncio.gather(*(self.manage.direct(self.tenant, *pair) for pair in pairs)))
        await asyncio.gather(*(self.ours(n) for n in range(CHATS)))

    async def ours(self, n: int) -> None:
        which = n % CHATS
        sender = UserId(f"a{which}")
        after = self.positions[which]
        sent = await self.sender.send(
            self.chats[which], sender, next(self.client_keys), Content(text=TEXT), after=after
        )
        self.positions[which] = sent.sequence

    async def hot(self, n: int) -> None:
        del n
        await self.ours(0)

    async def bare(self, n: int) -> None:
        await self._bare_put(n % CHATS)

    async def bare_hot(self, n: int) -> None:
        del n
        await self._bare_put(CHATS)

    async def _bare_put(self, which: int) -> None:
        """Put the same item on condition at the next sequence, which is the cheapest correct implementation."""
        self.bare_heads[which] += 1
        sequence = self.bare_heads[which]
        entry = entry_item(ChatKey(self.tenant, self.chats[0].chat), bare_entry(sequence))
        item = {**entry, "chat_id": f"{self.tenant}#bare{which}"}
        await self.client.put(patterns.APPEND, item, condition=ABSENT, repeatable=True)


def may_send(standing: MemberStatus, after: int | None, /) -> Code | None:
    return check_permission(ChatAction.SEND, standing, after)


def bare_entry(sequence: int) -> Entry:
    return Entry(
        sequence=sequence,
        ordinal=sequence,
        kind=EntryKind.MESSAGE,
        sender=UserId("a0"),
        client_key=ClientKey("01J8ZQ4M2Y9T6W3K5N7P0R1S2V"),
        fingerprint=b"f" * 32,
        created_at_ms=1_794_700_000_000,
        content=b"s" * 33 + b'{"text":"%s"}' % TEXT.encode(),
    )


async def measure(work: Work, count: int, in_flight: int) -> Run:
    numbers = iter(range(count))

    async def worker() -> None:
        for n in numbers:
            await work(n)

    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker() for _ in range(in_flight)))
    took, used = time.perf_counter() - began, time.process_time() - cpu
    return Run(count / took, used / count * 1e6)


async def rounds(
    tables: Tables, count: int, times: int, key_file: Path
) -> tuple[dict[str, list[Run]], float]:
    async with open_client(tables.url, REGION, tables.prefix) as client:
        paths = AppendPaths(client, Namespace().tenant, key_file)
        await paths.prepare()
        contenders: dict[str, tuple[Work, int, int]] = {
            "many chats, bare puts": (paths.bare, count, IN_FLIGHT),
            "many chats, messages.send": (paths.ours, count, IN_FLIGHT),
            "many chats, bare puts again": (paths.bare, count, IN_FLIGHT),
            "hot chat, bare puts one by one": (paths.bare_hot, count // 4, 1),
            "hot chat, messages.send": (paths.hot, count // 2, IN_FLIGHT),
        }
        runs: dict[str, list[Run]] = {name: [] for name in contenders}
        for number in range(times):
            # Alternate the order, because the machine and the engine change during the run.
            for name, given in list(contenders.items())[:: -1 if number % 2 else 1]:
                runs[name].append(await measure(*given))
        return runs, await write_units(paths, count)


async def write_units(paths: AppendPaths, count: int) -> float:
    """Return the write units of one message in a cached chat, from the cost ledger, with all calls."""
    before = sum(c.value for c in paths.client.ledger if c.name == "write_units")
    await measure(paths.ours, count, in_flight=1)
    return (sum(c.value for c in paths.client.ledger if c.name == "write_units") - before) / count


@contextmanager
def engine(kind: str) -> Iterator[Tables]:
    with tempfile.TemporaryDirectory() as home:
        fleet = LocalCluster(Path(home), default_cache())
        fleet.start(
            StartRequest(
                engines=frozenset({Engine.DYNAMO}), dynamo="dynoxide" if kind == "dynoxide" else "local"
            )
        )
        try:
            node = fleet.find("dynamo").node
            yield from make_tables(Dynamo("dynoxide", f"http://{node.address}"), Namespace().table_prefix)
        finally:
            fleet.stop()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--engine", choices=["dynoxide", "local"], default="dynoxide")
    options.add_argument("--count", type=int, default=8000)
    options.add_argument("--rounds", type=int, default=6)
    given = options.parse_args()
    with engine(given.engine) as tables, tempfile.TemporaryDirectory() as home:
        runs, units = uvloop.run(rounds(tables, given.count, given.rounds, Path(home) / "tidings.key"))
    rate = {name: Spread(tuple(run.per_s for run in some)) for name, some in runs.items()}
    cpu = {name: Spread(tuple(run.cpu_us for run in some)) for name, some in runs.items()}
    print_table(
        [f"{given.engine}, {given.rounds} rounds", "per second (min to max)", "CPU µs each (min to max)"],
        [(name, rate[name], cpu[name]) for name in runs],
    )
    ours, bare = rate["many chats, messages.send"].runs, rate["many chats, bare puts"].runs
    hot, bare_hot = rate["hot chat, messages.send"], rate["hot chat, bare puts one by one"]
    print_figures(
        {
            "many_chats_ratio": Spread(tuple(a / b for a, b in zip(ours, bare, strict=True))).median,
            "hot_chat_per_s": hot.median,
            "hot_chat_ratio": hot.median / bare_hot.median,
            "send_cpu_us": cpu["many chats, messages.send"].median,
            "write_units_per_message": units,
        }
    )


if __name__ == "__main__":
    main()
