"""A delivery worker over stores in memory, which record every call."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import override

from fixtures.memory_chat_rows import MemoryChat, MemoryChatRowWriter, PlainKeys
from fixtures.unused_ports import UnusedBus, UnusedRoutes

from tidings.bus.model import Push, decode_messages
from tidings.chats.model import Membership
from tidings.connections.model import GatewayId, LookupResult, Route
from tidings.delivery.audience import CachedAudience
from tidings.delivery.chat_rows import ChatRowProjector, Previews
from tidings.delivery.fanout import Fanout
from tidings.delivery.mentions import MentionChecks, MessageText
from tidings.delivery.model import (
    DeliveryStats,
    OfflineCheck,
    OfflineQueueBatch,
    OfflineQueueKey,
    OfflineQueuePage,
    RowUpdate,
)
from tidings.delivery.offline import OfflineQueueRedactor
from tidings.delivery.worker import DeliveryWorker, WorkerDeps
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.kernel.failpoints import NO_FAILPOINTS
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, DeviceId, TenantId, UserId
from tidings.messages.model import Entry, EntryKind

ACME = TenantId("acme")
ANNA, BEN, CLEO, DORA = UserId("anna"), UserId("ben"), UserId("cleo"), UserId("dora")
HERE, ELSEWHERE = GatewayId("here"), GatewayId("elsewhere")


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


def read_mention(body: bytes) -> MessageText:
    return MessageText(mentions=(BEN,) if body == b"@ben" else ())


@dataclass
class Truths:
    """A chat-row writer for each chat. Writes to the chats in `broken` fail."""

    of: dict[ChatKey, MemoryChatRowWriter] = field(default_factory=dict)
    broken: set[ChatKey] = field(default_factory=set)
    steps: list[str] = field(default_factory=list)

    async def raise_row(self, chat: ChatKey, user: UserId, first: int, update: RowUpdate) -> int:
        if chat in self.broken:
            raise TidingsError(Code.OVERLOADED, "scripted")
        self.steps.append("row")
        return await self.of.setdefault(chat, MemoryChatRowWriter()).raise_row(chat, user, first, update)

    async def raise_head(
        self, chat: ChatKey, first: int, update: RowUpdate, *, ends_quiet: bool = False
    ) -> int | None:
        self.steps.append("head")
        writer = self.of.setdefault(chat, MemoryChatRowWriter())
        return await writer.raise_head(chat, first, update, ends_quiet=ends_quiet)


@dataclass
class Redis(UnusedBus, UnusedRoutes):
    """The users in `online` are connected to one gateway, those in `elsewhere` to another. Every call is recorded.

    The shards of the users in `unknown` do not answer, or not before `found_after` look-ups.
    """

    online: set[UserId]
    steps: list[str]
    payloads: list[bytes] = field(default_factory=list)
    unknown: set[UserId] = field(default_factory=set)
    silent: set[GatewayId] = field(default_factory=set)
    elsewhere: set[UserId] = field(default_factory=set)
    found_after: float = inf
    asked: list[UserId] = field(default_factory=list)
    published: list[list[int]] = field(default_factory=list)
    is_channel_silent: bool = False

    @override
    async def look_up(
        self, tenant: TenantId, users: Sequence[UserId]
    ) -> LookupResult[UserId, Sequence[Route]]:
        del tenant
        self.steps.append("look up")
        self.asked += users
        unknown = frozenset(self.unknown.intersection(users)) if self.found_after > 0 else frozenset[UserId]()
        self.found_after -= 1
        places = dict.fromkeys(self.online, HERE) | dict.fromkeys(self.elsewhere, ELSEWHERE)
        wanted = [user for user in users if user in places and user not in unknown]
        found = {user: [Route(DeviceId(user), places[user], 1)] for user in wanted}
        return LookupResult(found, unknown, "scripted" if unknown else "")

    @override
    async def publish_to_gateway(self, gateway: GatewayId, payload: bytes) -> bool:
        if gateway in self.silent:
            raise UnavailableError("scripted")
        self.steps.append("push")
        self.payloads.append(payload)
        return True

    @override
    async def publish_to_chat(self, chat: ChatKey, payload: bytes) -> int:
        if self.is_channel_silent:
            raise UnavailableError("scripted")
        pushes = [each for each in decode_messages(payload) if isinstance(each, Push)]
        self.published += [[entry.sequence for entry in push.entries] for push in pushes]
        return 1


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

    def check(self, chat: ChatKey, users: Sequence[UserId], first: int, last: int, **_: bool) -> None:
        del chat, first, last
        self.steps += ["tell"] * len(users)

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
        self.source = Crowds(self.entries, stays, members=self.members)
        self.steps: list[str] = []
        self.truths = Truths(steps=self.steps)
        self.redis, self.marks, self.queue = (
            Redis(set(online), self.steps),
            Marks(self.steps),
            Queue(self.steps),
        )
        self.counts = DeliveryStats()
        self.worker = self.start_worker()

    def start_worker(self) -> DeliveryWorker:
        """Return a worker that remembers nothing."""
        audience = CachedAudience(self.source)
        fanout = Fanout(
            self.redis,
            self.redis,
            self.queue,
            self.queue,
            stats=self.counts,
            failpoints=NO_FAILPOINTS,
            mentions=MentionChecks(PlainKeys(), read_mention, self.queue),
        )
        deps = WorkerDeps(
            rows=ChatRowProjector(self.truths, audience, self.source, Previews(PlainKeys(), bytes.decode)),
            audience=audience,
            log=self.source,
            redactor=OfflineQueueRedactor(self.queue, audience, self.source, self.queue.clear),
            checkpoints=self.marks,
            fanout=fanout,
        )
        return DeliveryWorker(deps, stats=self.counts, failpoints=NO_FAILPOINTS)

    @property
    def pushes(self) -> list[Push]:
        words = [word for payload in self.redis.payloads for word in decode_messages(payload)]
        return [word for word in words if isinstance(word, Push)]
