"""Collect everything that is known about a message, with a bounded number of reads for a chat of any size.

DynamoDB must answer. If Redis or Kafka does not answer, its part of the evidence is unknown.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from tidings.chats.model import Chat
from tidings.chats.ports import ChatStore
from tidings.connections.model import GatewayId, Route
from tidings.delivery.ports import ChatRowReader
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.kernel.ids import ChatKey, MessageId, TenantId, UserId, split_message_id
from tidings.messages.model import may_see
from tidings.messages.ports import LogReader
from tidings.trace.model import (
    DeviceRoute,
    Evidence,
    OfflineQueueItem,
    PartitionState,
    RowWithTimes,
    UserEvidence,
)
from tidings.trace.ports import EventFinder, PushesReader, QueueReader, RedisState, RowsReader

MAX_USERS = 200
"""Maximum number of members in a trace: twice as many as a small chat has."""
SKEW_MS = 5_000
"""How far the clock of a publisher may be behind the clock of the committing process."""


class EvidenceCollector:
    def __init__(
        self,
        log: LogReader,
        chats: ChatStore,
        *,
        read_rows: RowsReader,
        heads: ChatRowReader,
        read_queue: QueueReader,
        read_pushes: PushesReader,
        redis: RedisState,
        events: EventFinder,
        clock: Clock,
        event_kept_s: float,
    ) -> None:
        self._log = log
        self._chats = chats
        self._read_rows = read_rows
        self._heads = heads
        self._read_queue = read_queue
        self._read_pushes = read_pushes
        self._redis = redis
        self._events = events
        self._clock = clock
        self._event_kept_ms = event_kept_s * 1000

    async def collect(self, tenant: TenantId, name: str, users: Sequence[UserId] = ()) -> Evidence:
        """Collect the evidence for these users, or for all listed members, former ones included.

        Raises `request_invalid`, `chat_not_found` or `message_not_found`.
        """
        chat, sequence = _parse_id(tenant, name)
        entry = await self._log.one(chat, sequence)
        row = await self._chats.chat(chat)
        if row is None or entry is None:
            raise await self._not_found(chat, row, sequence)
        is_large = row.large_since is not None and sequence >= row.large_since
        found = Evidence(chat=chat, entry=entry, now_ms=self._clock.now_ms(), is_large=is_large)
        listed, has_more = await self._users(chat, users, is_large=is_large)
        found = replace(found, users=listed, has_more_users=has_more)
        if found.is_group:
            found = replace(found, head=await self._head(chat))
        return await self._with_topic(await self._with_redis(await self._with_rows(found)))

    async def _not_found(self, chat: ChatKey, row: Chat | None, sequence: int) -> TidingsError:
        if row is None:
            return TidingsError(
                Code.CHAT_NOT_FOUND,
                f"The tenant {chat.tenant!r} has no chat {chat.chat!r}.",
                hint="A message id is <chat>.<sequence>. Set the tenant with --tenant, or before the id: acme#<id>.",
            )
        newest = await self._log.range(chat, 0, sequence, 1, newest_first=True)
        head = newest[0].sequence if newest else 0
        return TidingsError(
            Code.MESSAGE_NOT_FOUND,
            f"Entry {sequence} does not exist: the last entry of the chat is {head}.",
            hint="A send that was refused (blocked, not a member, too large) leaves no entry.",
        )

    async def _users(
        self, chat: ChatKey, users: Sequence[UserId], *, is_large: bool
    ) -> tuple[tuple[UserEvidence, ...], bool]:
        if users:
            named = users[:MAX_USERS]
            rows = [await self._chats.membership(chat, user) for user in named]
            found = (UserEvidence(user=user, membership=row) for user, row in zip(named, rows, strict=True))
            return tuple(found), len(users) > MAX_USERS
        if is_large:
            return (), True
        page = await self._chats.member_page(chat, None, MAX_USERS)
        return tuple(UserEvidence(user=row.user, membership=row) for row in page.items), page.last is not None

    async def _head(self, chat: ChatKey) -> int | None:
        found = (await self._heads.heads(chat.tenant, [chat.chat])).get(chat.chat)
        return found.head.sequence if found and found.head else None

    async def _with_rows(self, found: Evidence) -> Evidence:
        users = _recipients(found)
        if not users:
            return found
        rows = await self._read_rows(found.chat, users)
        queued = {} if found.is_group else await self._read_queue(found.chat, users, found.entry)
        pushes = await self._read_pushes(found.chat, found.entry.sequence)
        with_rows = (
            replace(
                each,
                moved=RowWithTimes(*rows[each.user]) if each.user in rows else None,
                queued=OfflineQueueItem(queued[each.user]) if each.user in queued else None,
                pushes=tuple(push for push in pushes if push.user == each.user),
            )
            for each in found.users
        )
        return replace(found, users=tuple(with_rows))

    async def _with_redis(self, found: Evidence) -> Evidence:
        tenant, users = found.chat.tenant, _recipients(found)
        try:
            checkpoint = await self._redis.checkpoint(found.chat)
            routes = await self._redis.routes(tenant, users)
            seen = await self._redis.last_seen(tenant, users)
            gateways = {route.gateway for some in routes.values() for route in some}
            subscribed = await self._redis.subscribed(gateways)
        except UnavailableError as error:
            return replace(found, redis=str(error))
        with_routes = (
            replace(
                each,
                connected=connected_devices(routes.get(each.user, ()), subscribed),
                last_seen_ms=seen.get(each.user),
            )
            for each in found.users
        )
        return replace(found, mark=checkpoint, users=tuple(with_routes))

    async def _with_topic(self, found: Evidence) -> Evidence:
        entry = found.entry
        try:
            partition, end, committed = await self._events.progress(found.chat)
            topic = PartitionState(partition=partition, end=end, committed=committed)
            if found.now_ms - entry.created_at_ms > self._event_kept_ms:
                return replace(found, topic=replace(topic, searched=None))
            since_ms = entry.created_at_ms - SKEW_MS
            event, searched = await self._events.find(found.chat, entry.sequence, partition, since_ms)
        except UnavailableError as error:
            return replace(found, kafka=str(error))
        return replace(found, topic=replace(topic, event=event, searched=searched))


def _parse_id(tenant: TenantId, name: str) -> tuple[ChatKey, int]:
    found = split_message_id(MessageId(name))
    if found is None:
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"{name!r} is not a message id.",
            hint="A message id is <chat>.<sequence>, for example gAB12.40.",
        )
    return ChatKey(tenant, found[0]), found[1]


def _recipients(found: Evidence) -> list[UserId]:
    return [
        each.user
        for each in found.users
        if each.membership is not None and may_see(each.membership.intervals, found.entry.sequence)
    ]


def connected_devices(routes: Sequence[Route], subscribed: set[GatewayId]) -> tuple[DeviceRoute, ...]:
    # The epoch of a route is the time of its registration, in microseconds.
    return tuple(
        DeviceRoute(each.device, each.gateway, each.epoch // 1000, each.gateway in subscribed)
        for each in sorted(routes)
    )
