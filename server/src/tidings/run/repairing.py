"""Joins the repair job with the stores, and walks a list of chats with it: at a bounded rate, where it left off."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tidings.chats.model import Membership
from tidings.chats.store import DynamoRows
from tidings.delivery.audience import ReadAudience
from tidings.delivery.model import Row
from tidings.delivery.rules import furthest
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import ChatKey
from tidings.messages.model import Entry
from tidings.messages.store.items import entry_of
from tidings.platform.dynamo.client import Client
from tidings.platform.dynamo.opening import open_client
from tidings.platform.kafka.publisher import Publisher
from tidings.relay import rules
from tidings.relay.repair import Mended, Repair
from tidings.relay.store import DynamoBooks
from tidings.run.chat_lists import join_lists, join_rows, join_watermarks
from tidings.run.installation.row import Row as InstallationRow
from tidings.run.keys import open_keys
from tidings.run.options import dynamo_endpoint, kafka_connection
from tidings.run.relaying import KafkaOutbox
from tidings.run.settings import Settings

_CLOSE_S = 30.0


class Bench(NamedTuple):
    repair: Repair
    books: DynamoBooks


@asynccontextmanager
async def open_bench(settings: Settings) -> AsyncIterator[Bench]:
    wanted, clock = settings.dynamo, SystemClock()
    async with (
        open_client(dynamo_endpoint(settings), wanted.region, wanted.table_prefix) as client,
        open_keys(settings, client, clock) as keys,
    ):
        publisher = Publisher(kafka_connection(settings))
        books = RowBooks(client)
        found = await InstallationRow(client, clock).read()
        epoch = found.epoch if found is not None else 0
        rows = join_rows(client, keys, ReadAudience(DynamoRows(client, clock)), lambda: epoch)
        try:
            yield Bench(Repair(books, rows, KafkaOutbox(publisher)), books)
        finally:
            await publisher.close(_CLOSE_S)


class RowBooks(DynamoBooks):
    """A chat's rows: of each member, or of a large chat the one head."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        clock = SystemClock()
        self._chats = DynamoRows(client, clock)
        # Believed as they stand: a row of another epoch is to be found, and handling an entry settles it.
        self._rows = join_watermarks(client, clock)
        self._heads = join_lists(client)

    async def between(self, chat: ChatKey, after: int, up_to: int) -> Sequence[Entry]:
        return [entry_of(item) for item in await self.items(chat, after, up_to)]

    async def came_to(self, chat: ChatKey, head: int) -> int:
        row = await self._chats.chat(chat)
        if row is not None and row.large_since is not None:
            return await self._large(chat, row.large_since, head)
        return await self._small(chat, await self._chats.members(chat), head)

    async def _small(self, chat: ChatKey, members: Sequence[Membership], head: int) -> int:
        rows = await self._rows.rows_of(chat, [member.user for member in members])
        had = {user: _came_to(row, head) for user, row in rows.items()}
        each = (rules.came_to(member.intervals, had.get(member.user, 0), head) for member in members)
        return min(each, default=head)

    async def _large(self, chat: ChatKey, large_since: int, head: int) -> int:
        found = (await self._heads.heads(chat.tenant, [chat.chat])).get(chat.chat)
        had = 0 if found is None else _came_to(Row(chat=chat.chat, known=found), head)
        return min(head, max(had, large_since))


def _came_to(row: Row, head: int) -> int:
    """What a row has come to. One that is ahead of its log counts as behind: handling the last entry settles it."""
    if furthest(row) > head:
        return head - 1
    return row.known.head.sequence if row.known.head is not None else 0


@dataclass(slots=True)
class Walk:
    """One chat after the other. `place` holds how many were done, so that a walk that was ended goes on there."""

    mend: Callable[[ChatKey], Awaitable[Mended | None]]
    chats_per_s: float
    place: Path | None = None
    tell: Callable[[ChatKey, Mended], None] = lambda _, __: None
    seen: int = 0
    mended: int = 0
    entries: int = 0
    _began_at: float = field(default_factory=lambda: asyncio.get_running_loop().time())

    def skipped(self) -> int:
        """How many an earlier walk has done."""
        return int(self.place.read_text() or 0) if self.place is not None and self.place.exists() else 0

    async def over(self, chats: AsyncIterator[ChatKey]) -> None:
        done = skip = self.skipped()
        async for chat in chats:
            if skip:
                skip -= 1
                continue
            await self._one(chat)
            done += 1
            if self.place is not None:
                self.place.write_text(str(done))

    async def _one(self, chat: ChatKey) -> None:
        found = await self.mend(chat)
        self.seen += 1
        if found is not None:
            self.mended += 1
            self.entries += found.head - found.after
            self.tell(chat, found)
        ahead_s = self._began_at + self.seen / self.chats_per_s - asyncio.get_running_loop().time()
        await asyncio.sleep(max(0.0, ahead_s))
