"""Joins the repair job with the stores, and walks a list of chats with it: at a bounded rate, where it left off."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tidings.chats.model import Membership
from tidings.chats.store import DynamoChatStore
from tidings.delivery.audience import StoredAudience
from tidings.delivery.model import ChatRow
from tidings.delivery.rules import highest_sequence
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import ChatKey
from tidings.messages.model import Entry
from tidings.messages.store.items import entry_from_item
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.opening import open_client
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.relay import rules
from tidings.relay.repair import Repair, RepairResult
from tidings.relay.store import DynamoRepairReader
from tidings.run.chat_lists import build_chat_row_reader, build_row_projector, build_watermark_store
from tidings.run.installation.row import InstallationStore as InstallationRow
from tidings.run.keys import open_key_ring
from tidings.run.options import dynamo_endpoint, kafka_config
from tidings.run.relaying import KafkaEventPublisher
from tidings.run.settings import Settings

_CLOSE_S = 30.0


class RepairTools(NamedTuple):
    repair: Repair
    reader: DynamoRepairReader


@asynccontextmanager
async def open_repair(settings: Settings) -> AsyncIterator[RepairTools]:
    wanted, clock = settings.dynamo, SystemClock()
    async with (
        open_client(dynamo_endpoint(settings), wanted.region, wanted.table_prefix) as client,
        open_key_ring(settings, client, clock) as keys,
    ):
        publisher = KafkaPublisher(kafka_config(settings))
        books = RowRepairReader(client)
        found = await InstallationRow(client, clock).read()
        epoch = found.epoch if found is not None else 0
        rows = build_row_projector(
            client, keys, StoredAudience(DynamoChatStore(client, clock)), lambda: epoch
        )
        try:
            yield RepairTools(Repair(books, rows, KafkaEventPublisher(publisher)), books)
        finally:
            await publisher.close(_CLOSE_S)


class RowRepairReader(DynamoRepairReader):
    """A chat's rows: of each member, or of a large chat the one head."""

    def __init__(self, client: DynamoClient) -> None:
        super().__init__(client)
        clock = SystemClock()
        self._chats = DynamoChatStore(client, clock)
        # Believed as they stand: a row of another epoch is to be found, and handling an entry settles it.
        self._rows = build_watermark_store(client, clock)
        self._heads = build_chat_row_reader(client)

    async def between(self, chat: ChatKey, after: int, up_to: int) -> Sequence[Entry]:
        return [entry_from_item(item) for item in await self.items(chat, after, up_to)]

    async def row_progress(self, chat: ChatKey, head: int) -> int:
        row = await self._chats.chat(chat)
        if row is not None and row.large_since is not None:
            return await self._large(chat, row.large_since, head)
        return await self._small(chat, await self._chats.members(chat), head)

    async def _small(self, chat: ChatKey, members: Sequence[Membership], head: int) -> int:
        rows = await self._rows.rows_of(chat, [member.user for member in members])
        had = {user: _came_to(row, head) for user, row in rows.items()}
        each = (rules.row_progress(member.intervals, had.get(member.user, 0), head) for member in members)
        return min(each, default=head)

    async def _large(self, chat: ChatKey, large_since: int, head: int) -> int:
        found = (await self._heads.heads(chat.tenant, [chat.chat])).get(chat.chat)
        had = 0 if found is None else _came_to(ChatRow(chat=chat.chat, known=found), head)
        return min(head, max(had, large_since))


def _came_to(row: ChatRow, head: int) -> int:
    """What a row has come to. One that is ahead of its log counts as behind: handling the last entry settles it."""
    if highest_sequence(row) > head:
        return head - 1
    return row.known.head.sequence if row.known.head is not None else 0


@dataclass(slots=True)
class RepairRun:
    """One chat after the other. `state_path` holds how many were done, so that a walk that was ended goes on there."""

    repair: Callable[[ChatKey], Awaitable[RepairResult | None]]
    chats_per_s: float
    state_path: Path | None = None
    report: Callable[[ChatKey, RepairResult], None] = lambda _, __: None
    seen: int = 0
    repaired: int = 0
    entries: int = 0
    _began_at: float = field(default_factory=lambda: asyncio.get_running_loop().time())

    def skipped(self) -> int:
        """How many an earlier walk has done."""
        return (
            int(self.state_path.read_text() or 0)
            if self.state_path is not None and self.state_path.exists()
            else 0
        )

    async def over(self, chats: AsyncIterator[ChatKey]) -> None:
        done = skip = self.skipped()
        async for chat in chats:
            if skip:
                skip -= 1
                continue
            await self._one(chat)
            done += 1
            if self.state_path is not None:
                self.state_path.write_text(str(done))

    async def _one(self, chat: ChatKey) -> None:
        found = await self.repair(chat)
        self.seen += 1
        if found is not None:
            self.repaired += 1
            self.entries += found.head - found.after
            self.report(chat, found)
        ahead_s = self._began_at + self.seen / self.chats_per_s - asyncio.get_running_loop().time()
        await asyncio.sleep(max(0.0, ahead_s))
