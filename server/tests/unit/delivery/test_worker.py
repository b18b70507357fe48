"""The worker over stores in memory: chats side by side, one in trouble, and steps in their order."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import override

import pytest
from fixtures.memory_chat_rows import MemoryChat, MemoryChatRowWriter, PlainKeys
from fixtures.unused_ports import UnusedBus, UnusedRoutes

from tidings.bus.model import Push, decode_messages
from tidings.chats.model import Membership
from tidings.connections.model import GatewayId, LookupResult, Route
from tidings.delivery.audience import CachedAudience
from tidings.delivery.chat_rows import ChatRowProjector, Previews
from tidings.delivery.fanout import MAX_PAYLOAD_BYTES, Fanout
from tidings.delivery.model import (
    DeliveryStats,
    LogPosition,
    OfflineCheck,
    OfflineQueueBatch,
    OfflineQueueKey,
    OfflineQueuePage,
    RowUpdate,
)
from tidings.delivery.offline import OfflineQueueRedactor
from tidings.delivery.worker import DeliveryWorker, WorkerDeps, group_by_chat
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.kernel.failpoints import NO_FAILPOINTS
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, DeviceId, TenantId, UserId
from tidings.messages.model import Entry, EntryKind

ACME = TenantId("acme")
ANNA, BEN, CLEO, DORA = UserId("anna"), UserId("ben"), UserId("cleo"), UserId("dora")
HERE = GatewayId("here")


def log_of(count: int, content: bytes = b"hi") -> list[Entry]:
    return [
        Entry(
            sequence=n,
            ordinal=n - 1,
            kind=EntryKind.CREATE if n == 1 else EntryKind.MESSAGE,
            sender=ANNA,
            client_key=ClientKey(str(n)),
            fingerprint=b"",
            created_at_ms=n,
            users=(ANNA, BEN) if n == 1 else (),
            content=None if n == 1 else content,
        )
        for n in range(1, count + 1)
    ]


def chat(name: str) -> ChatKey:
    return ChatKey(ACME, ChatId(name))


@dataclass
class Truths:
    """A chat-row writer for each chat. Writes to the chats in `broken` fail."""

    of: dict[ChatKey, MemoryChatRowWriter] = field(default_factory=dict)
    broken: set[ChatKey] = field(default_factory=set)
    steps: list[str] = field(default_factory=list)

    async def raise_row(self, chat: ChatKey, user: UserId, update: RowUpdate) -> int:
        if chat in self.broken:
            raise TidingsError(Code.OVERLOADED, "scripted")
        self.steps.append("row")
        return await self.of.setdefault(chat, MemoryChatRowWriter()).raise_row(chat, user, update)

    async def raise_head(self, chat: ChatKey, first: int, update: RowUpdate) -> int:
        self.steps.append("head")
        return await self.of.setdefault(chat, MemoryChatRowWriter()).raise_head(chat, first, update)


@dataclass
class Redis(UnusedBus, UnusedRoutes):
    """The users in `online` are connected to one gateway. Every call is recorded."""

    online: set[UserId]
    steps: list[str]
    payloads: list[bytes] = field(default_factory=list)
    unknown: set[UserId] = field(default_factory=set)
    silent: set[GatewayId] = field(default_factory=set)

    @override
    async def look_up(
        self, tenant: TenantId, users: Sequence[UserId]
    ) -> LookupResult[UserId, Sequence[Route]]:
        del tenant
        self.steps.append("look up")
        found = {user: [Route(DeviceId(user), HERE, 1)] for user in users if user in self.online}
        return LookupResult(
            found, frozenset(self.unknown.intersection(users)), "scripted" if self.unknown else ""
        )

    @override
    async def publish_to_gateway(self, gateway: GatewayId, payload: bytes) -> bool:
        if gateway in self.silent:
            raise UnavailableError("scripted")
        self.steps.append("push")
        self.payloads.append(payload)
        return True


@dataclass
class Marks:
    steps: list[str]
    of_chats: dict[ChatKey, int] = field(default_factory=dict)
    unknown: set[ChatKey] = field(default_factory=set)

    async def advance(self, chat: ChatKey, first: int, last: int) -> int:
        self.steps.append("mark")
        mark = self.of_chats.get(chat, first - 1)
        self.of_chats[chat] = max(mark, last) if mark >= first - 1 else mark
        return self.of_chats[chat]

    async def read(self, chats: Sequence[ChatKey]) -> LookupResult[ChatKey, int]:
        found = {c: self.of_chats[c] for c in chats if c in self.of_chats and c not in self.unknown}
        return LookupResult(found, frozenset(self.unknown.intersection(chats)))


@dataclass
class Queue:
    steps: list[str]
    kept: list[tuple[UserId, int]] = field(default_factory=list)
    is_broken: bool = False
    throttled: set[UserId] = field(default_factory=set)

    async def put(self, queued: Sequence[OfflineQueueBatch]) -> None:
        if self.is_broken or any(each.user in self.throttled for each in queued):
            raise TidingsError(Code.OUTCOME_UNKNOWN, "scripted")
        self.steps.append("keep")
        self.kept += [(each.user, message.sequence) for each in queued for message in each.messages]

    async def withdraw(self, chat: ChatKey, users: Sequence[UserId], message: Entry) -> None:
        raise AssertionError((chat, users, message))

    async def clear(self, chat: ChatKey, sequence: int) -> None:
        raise AssertionError((chat, sequence))

    async def drain(
        self, tenant: TenantId, user: UserId, after: OfflineQueueKey | None = None, limit: int = 200
    ) -> OfflineQueuePage:
        raise AssertionError((tenant, user, after, limit))

    async def delete(self, tenant: TenantId, user: UserId, keys: Sequence[OfflineQueueKey]) -> None:
        raise AssertionError((tenant, user, keys))

    def check(
        self, chat: ChatKey, user: UserId, first: int, last: int, *, is_reconnecting: bool = False
    ) -> None:
        del chat, user, first, last, is_reconnecting
        self.steps.append("tell")

    def check_late(self, check: OfflineCheck) -> None:
        raise AssertionError(check)


@dataclass
class Crowds(MemoryChat):
    """Chats have `members`, or two default members."""

    members: dict[ChatKey, tuple[UserId, ...]] = field(default_factory=dict)

    async def everyone(self, chat: ChatKey) -> Sequence[Membership]:
        found = await super().everyone(chat)
        return [each for each in found if each.user in self.members.get(chat, (ANNA, BEN))]


class WorkerEnv:
    def __init__(self, *online: UserId, entries: list[Entry] | None = None) -> None:
        self.entries = entries or log_of(4)
        self.members: dict[ChatKey, tuple[UserId, ...]] = {}
        stays = {user: [(1, 10**9)] for user in (ANNA, BEN, CLEO, DORA)}
        source = Crowds(self.entries, stays, members=self.members)
        self.steps: list[str] = []
        self.truths = Truths(steps=self.steps)
        self.redis, self.marks, self.queue = (
            Redis(set(online), self.steps),
            Marks(self.steps),
            Queue(self.steps),
        )
        audience = CachedAudience(source)
        self.counts = DeliveryStats()
        fanout = Fanout(
            self.redis,
            self.redis,
            self.queue,
            self.queue,
            stats=self.counts,
            failpoints=NO_FAILPOINTS,
        )
        deps = WorkerDeps(
            rows=ChatRowProjector(self.truths, audience, source, Previews(PlainKeys(), bytes.decode)),
            audience=audience,
            log=source,
            redactor=OfflineQueueRedactor(self.queue, audience, source, self.queue.clear),
            checkpoints=self.marks,
            fanout=fanout,
        )
        self.worker = DeliveryWorker(deps, stats=self.counts, failpoints=NO_FAILPOINTS)

    @property
    def pushes(self) -> list[Push]:
        words = [word for payload in self.redis.payloads for word in decode_messages(payload)]
        return [word for word in words if isinstance(word, Push)]


def test_events_are_processed_in_order_and_none_twice() -> None:
    entries = log_of(4)
    found = group_by_chat([(chat("g1"), entries[2:]), (chat("g2"), entries[:1]), (chat("g1"), entries[:3])])
    assert [entry.sequence for entry in found[chat("g1")]] == [1, 2, 3, 4]
    assert [entry.sequence for entry in found[chat("g2")]] == [1]


async def test_the_steps_of_a_direct_chat_run_in_order() -> None:
    env = WorkerEnv(ANNA)
    await env.worker.handle([(chat("d1"), env.entries[:2])])
    assert env.steps == ["row", "row", "look up", "push", "keep", "look up", "tell", "mark"]


async def test_the_steps_of_a_group_run_in_order() -> None:
    env = WorkerEnv(ANNA)
    await env.worker.handle([(chat("g1"), env.entries[:2])])
    assert env.steps == ["row", "row", "head", "look up", "push", "tell", "mark"]
    env.steps.clear()
    await env.worker.handle([(chat("g1"), env.entries[2:3])])
    assert env.steps == ["row", "head", "look up", "push", "tell", "mark"], "only the sender's row"


async def test_a_head_that_is_behind_is_not_raised_over_the_gap() -> None:
    env = WorkerEnv(ANNA, BEN)
    await env.worker.handle([(chat("g1"), env.entries[:1])])
    env.marks.of_chats.clear()
    env.steps.clear()
    worker = WorkerEnv(ANNA, BEN)
    worker.truths.of, worker.marks.of_chats = env.truths.of, {chat("g1"): 3}
    await worker.worker.handle([(chat("g1"), env.entries[3:])])
    assert [[entry.sequence for entry in push.entries] for push in worker.pushes] == [[2, 3], [4]]
    assert worker.truths.of[chat("g1")].head.head == LogPosition(4, 3)


async def test_a_failing_chat_is_reported_and_does_not_delay_others() -> None:
    env = WorkerEnv(ANNA, BEN)
    env.truths.broken.add(chat("g2"))
    entries = [(chat(name), env.entries) for name in ("g1", "g2", "g3")]
    with pytest.raises(TidingsError) as caught:
        await env.worker.handle(entries)
    assert caught.value.retryable
    assert {push.chat for push in env.pushes} == {"g1", "g3"}
    assert env.marks.of_chats == {chat("g1"): 4, chat("g3"): 4}
    env.truths.broken.clear()
    await env.worker.handle(entries)
    assert [push.chat for push in env.pushes] == ["g1", "g3", "g2"], "what got through is not done again"
    assert env.marks.of_chats[chat("g2")] == 4


async def test_entries_that_cannot_be_queued_are_not_in_the_checkpoint() -> None:
    env = WorkerEnv(ANNA)
    env.queue.is_broken = True
    with pytest.raises(TidingsError):
        await env.worker.handle([(chat("d1"), env.entries)])
    assert env.marks.of_chats == {}


async def test_a_payload_is_bounded_and_keeps_the_order_for_each_gateway() -> None:
    env = WorkerEnv(ANNA, BEN, entries=log_of(60, b"x" * 4096))
    chats = [chat(f"g{n}") for n in range(6)]
    await env.worker.handle((each, env.entries) for each in chats)
    assert len(env.redis.payloads) == 3
    assert all(len(payload) < 1.2 * MAX_PAYLOAD_BYTES for payload in env.redis.payloads)
    assert [push.chat for push in env.pushes] == [each.chat for each in chats]


async def test_a_silent_shard_of_a_user_defers_only_their_chat() -> None:
    env = WorkerEnv(ANNA, BEN)
    env.redis.unknown = {CLEO}
    env.members[chat("g2")] = (ANNA, BEN, CLEO)
    await env.worker.handle([(chat(name), env.entries) for name in ("g1", "g2", "g3")])
    assert env.marks.of_chats == {chat("g1"): 4, chat("g3"): 4}
    assert {push.chat for push in env.pushes} == {"g1", "g2", "g3"}, "the others of g2 are found, and get it"
    assert env.counts.deferred == 4
    env.redis.unknown, env.redis.online = set(), {ANNA, BEN, CLEO}
    env.redis.payloads.clear()
    await env.worker.handle([(chat("g2"), log_of(5)[4:])])
    (push,) = env.pushes
    assert [entry.sequence for entry in push.entries] == [1, 2, 3, 4, 5], "what was late goes first"
    assert env.marks.of_chats[chat("g2")] == 5


async def test_an_unknown_checkpoint_defers_only_its_chat() -> None:
    env = WorkerEnv(ANNA, BEN)
    env.marks.unknown = {chat("g2")}
    await env.worker.handle([(chat(name), env.entries) for name in ("g1", "g2")])
    assert env.marks.of_chats == {chat("g1"): 4}
    assert {push.chat for push in env.pushes} == {"g1"}, "earlier entries of g2 may be unpushed"


async def test_a_silent_channel_of_a_gateway_defers_only_its_chats() -> None:
    env = WorkerEnv(ANNA, BEN)
    env.redis.silent = {HERE}
    env.members[chat("d2")] = (CLEO, DORA)
    await env.worker.handle([(chat("g1"), env.entries), (chat("d2"), env.entries)])
    assert env.marks.of_chats == {chat("d2"): 4}
    assert {user for user, _ in env.queue.kept} == {CLEO, DORA}


async def test_deferred_entries_are_not_processed_again_with_every_entry_of_a_long_outage() -> None:
    env = WorkerEnv(ANNA, BEN, entries=log_of(2_000))
    env.redis.unknown = {BEN}
    env.marks.of_chats[chat("g1")] = 0
    for n in range(1, 2_001):
        await env.worker.handle([(chat("g1"), env.entries[n - 1 : n])])
    pushed = sum(len(push.entries) for push in env.pushes)
    assert pushed < 30_000, "2,000 entries one by one, each with all before it, would be 2 million"
    env.redis.unknown = set()
    await env.worker.handle([(chat("g1"), env.entries)])
    assert env.marks.of_chats[chat("g1")] == 2_000


@pytest.mark.parametrize("what", ["row", "queue"])
async def test_a_throttled_user_does_not_stop_the_partition(what: str) -> None:
    env = WorkerEnv(ANNA, BEN)
    env.members[chat("d2")] = (ANNA, CLEO)
    if what == "row":
        env.truths.broken.add(chat("d2"))
    else:
        env.queue.throttled.add(CLEO)
    entries = [(chat("g1"), env.entries), (chat("d2"), env.entries)]
    for n in range(3):
        with pytest.raises(TidingsError):
            await env.worker.handle([*entries, (chat(f"other-{n}"), env.entries)])
    await env.worker.handle(entries)
    assert chat("d2") not in env.marks.of_chats, "it is not marked, so the relay brings it again"
    env.truths.broken.clear()
    env.queue.throttled.clear()
    await env.worker.handle([(chat("d2"), env.entries)])
    assert env.marks.of_chats[chat("d2")] == 4


async def test_the_partition_waits_while_nothing_can_be_delivered() -> None:
    env = WorkerEnv(ANNA, BEN)
    env.truths.broken |= {chat("g1"), chat("g2")}
    for _ in range(10):
        with pytest.raises(TidingsError):
            await env.worker.handle([(chat("g1"), env.entries), (chat("g2"), env.entries)])
