"""Do what users and the delivery worker do before a push worker: send messages, mark them as read, publish offline events."""

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from fixtures.use_cases import ANNA, UseCaseEnv

from load.push_checker import PublishedEvent, RecordedRead, SentMessage
from tidings.app.wiring.chats import build_chat_lists, build_row_projector
from tidings.delivery.audience import StoredAudience
from tidings.delivery.model import OfflineMessage, WatermarkAdvanced
from tidings.delivery.store.offline_queue import KafkaOfflineEvents
from tidings.kernel.clock import format_ms
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.ids import ChatKey, UserId, message_id
from tidings.messages.model import Entry, EntryKind
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.push.model import PushRead
from tidings.push.store.tasks import KafkaReadPublisher

MAX_BURST = 8
READ_SHARE = 0.15
"""Users who read a burst before its events are published, and as many who read it soon after that."""
READ_WITHIN_S = 3.0


@dataclass
class Feeder:
    """Sends messages, marks them as read, and publishes the offline events that the delivery worker would publish."""

    use_cases: UseCaseEnv
    publisher: KafkaPublisher
    messages: list[SentMessage] = field(default_factory=list)
    events: list[PublishedEvent] = field(default_factory=list)
    reads: list[RecordedRead] = field(default_factory=list)
    reading: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        env = self.use_cases
        self._offline, self._read_events = (
            KafkaOfflineEvents(self.publisher),
            KafkaReadPublisher(self.publisher),
        )
        self._rows = build_row_projector(env.client, env.keys, StoredAudience(env.rows))
        self._lists = build_chat_lists(env.client, env.keys, env.clock, self._advanced)
        self._entries: dict[ChatKey, list[Entry]] = {}
        env.on_commit = self._committed
        env.open_process()

    def _committed(self, chat: ChatKey, entries: Sequence[Entry], /) -> None:
        self._entries.setdefault(chat, []).extend(entries)

    def _advanced(self, advance: WatermarkAdvanced) -> None:
        if advance.is_read and advance.read:
            tenant, chat = advance.chat
            self._read_events.publish(
                PushRead(tenant=tenant, user=advance.user, chat=chat, sequence=advance.read)
            )

    async def create(self, members: Sequence[UserId]) -> ChatKey:
        chat = await self.use_cases.group(*members)
        await self._rows.handle(chat, self._entries.pop(chat))
        return chat

    async def send(self, chat: ChatKey, count: int) -> list[int]:
        """Send messages at the same time, and write the chat rows."""
        began = time.monotonic()
        sent = await asyncio.gather(*(self.use_cases.send(chat, ANNA) for _ in range(count)))
        sequences = sorted(each.sequence for each in sent)
        await self._rows.handle(chat, sorted(self._entries.pop(chat), key=lambda entry: entry.sequence))
        ended = time.monotonic()
        self.messages += [SentMessage(chat.chat, each, began, ended) for each in sequences]
        return sequences

    async def publish(self, chat: ChatKey, members: Sequence[UserId], sequences: Sequence[int]) -> None:
        """Publish the events of each user, in the order of the messages."""
        at = format_ms(self.use_cases.clock.now_ms())
        events = [
            OfflineMessage(
                tenant=chat.tenant,
                recipient=user,
                chat=chat.chat,
                message_id=message_id(chat.chat, sequence),
                sequence=sequence,
                sender=ANNA,
                kind=EntryKind.MESSAGE,
                at=at,
                badge=0,
                collapse_key=chat.chat,
                preview="hi",
            )
            for user in members
            for sequence in sequences
        ]
        now = time.monotonic()
        self.events += [PublishedEvent(each.recipient, each.chat, each.sequence, now) for each in events]
        await asyncio.gather(*map(self._offline.publish, events))

    async def read(self, chat: ChatKey, user: UserId, sequence: int, wait_s: float = 0.0) -> None:
        await asyncio.sleep(wait_s)
        began = time.monotonic()
        await self._lists.marking.read(chat, user, sequence)
        self.reads.append(RecordedRead(user, chat.chat, sequence, began, time.monotonic()))

    async def read_newest(self, chat: ChatKey, members: Sequence[UserId]) -> None:
        """Let some members read everything, after their devices have shown it."""
        newest = max(each.sequence for each in self.messages if each.chat == chat.chat)
        readers = [user for user in members if random.random() < READ_SHARE]
        await gather_limited(self.read(chat, user, newest) for user in readers)

    async def burst(self, chat: ChatKey, members: Sequence[UserId], count: int) -> None:
        """Send messages that some members read before their events are published, and others afterwards."""
        sequences = await self.send(chat, count)
        early = [user for user in members if random.random() < READ_SHARE]
        await gather_limited(self.read(chat, user, random.choice(sequences)) for user in early)
        await self.publish(chat, members, sequences)
        for user in members:
            if random.random() < READ_SHARE:
                wait_s = random.uniform(0, READ_WITHIN_S)
                task = asyncio.create_task(
                    self.read(chat, user, random.choice((sequences[-1], random.choice(sequences))), wait_s)
                )
                self.reading.add(task)
                task.add_done_callback(self.reading.discard)

    async def fill(self, chat: ChatKey, members: Sequence[UserId], messages: int) -> None:
        left = messages
        while left:
            count = min(left, random.randint(1, MAX_BURST))
            await self.burst(chat, members, count)
            left -= count
