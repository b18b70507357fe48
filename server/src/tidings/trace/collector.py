"""Finds everything that is known of a message, in a bounded number of reads, whatever the size of its chat.

DynamoDB is the truth and must answer. What Redis or Kafka do not answer is left out, and said to be not known.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from tidings.chats.model import Chat, Membership
from tidings.connections.model import GatewayId, Route
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.kernel.ids import ChatKey, MessageId, TenantId, UserId, split_message_id
from tidings.messages.model import Entry, may_see
from tidings.trace.model import (
    DeviceRoute,
    Evidence,
    OfflineQueueItem,
    PartitionState,
    RowWithTimes,
    UserEvidence,
)
from tidings.trace.ports import (
    EventFinder,
    HeadReader,
    RedisState,
    TraceChatReader,
    TraceLogReader,
    TraceQueueReader,
    TraceRowReader,
)

MAX_USERS = 200
"""Members whose rows, queues and routes are looked at: twice as many as a small chat has."""
SKEW_MS = 5_000
"""Clocks of those who publish may be behind the one that committed by this much, and the event is found all the same."""


class EvidenceCollector:
    def __init__(
        self,
        log: TraceLogReader,
        chats: TraceChatReader,
        *,
        rows: TraceRowReader,
        heads: HeadReader,
        queues: TraceQueueReader,
        places: RedisState,
        events: EventFinder,
        clock: Clock,
        event_kept_s: float,
    ) -> None:
        self._log = log
        self._chats = chats
        self._rows = rows
        self._heads = heads
        self._queues = queues
        self._redis = places
        self._events = events
        self._clock = clock
        self._event_kept_ms = event_kept_s * 1000

    async def __call__(self, tenant: TenantId, name: str, users: Sequence[UserId] = ()) -> Evidence:
        """Of these users, or of everybody who ever was in the chat, as far as they can be listed."""
        chat, sequence = _place(tenant, name)
        entry = await self._log.one(chat, sequence)
        row = await self._chats.chat(chat)
        if row is None or entry is None:
            raise await self._nowhere(chat, row, sequence)
        is_large = row.large_since is not None and sequence >= row.large_since
        found = Evidence(chat=chat, entry=entry, now_ms=self._clock.now_ms(), is_large=is_large)
        people, has_more = await self._users(chat, users, is_large=is_large)
        found = replace(found, users=people, has_more_users=has_more)
        if is_large:
            found = replace(found, head=await self._head(chat))
        return await self._with_topic(await self._with_places(await self._with_rows(found)))

    async def _nowhere(self, chat: ChatKey, row: Chat | None, sequence: int) -> TidingsError:
        if row is None:
            return TidingsError(
                Code.CHAT_NOT_FOUND,
                f"The tenant {chat.tenant!r} has no chat {chat.chat!r}.",
                hint="A message's id is <chat>.<sequence>; the tenant is named by --tenant, or before it: acme#<id>.",
            )
        newest = await self._log.range(chat, 0, sequence, 1, newest_first=True)
        head = newest[0].sequence if newest else 0
        return TidingsError(
            Code.MESSAGE_NOT_FOUND,
            f"No entry {sequence} was ever committed: the chat has come to {head}.",
            hint="A send that was refused (blocked, not a member, too large) or never acknowledged leaves nothing.",
        )

    async def _users(
        self, chat: ChatKey, users: Sequence[UserId], *, is_large: bool
    ) -> tuple[tuple[UserEvidence, ...], bool]:
        if users:
            named = [await self._chats.membership(chat, user) for user in users[:MAX_USERS]]
            found = tuple(
                UserEvidence(user=user, membership=row) for user, row in zip(users, named, strict=False)
            )
            return found, len(users) > MAX_USERS
        if is_large:
            return (), True
        part = await self._chats.members(chat, None, MAX_USERS)
        return tuple(UserEvidence(user=row.user, membership=row) for row in part.items), part.last is not None

    async def _head(self, chat: ChatKey) -> int | None:
        news = (await self._heads.heads(chat.tenant, [chat.chat])).get(chat.chat)
        return news.head.sequence if news and news.head else None

    async def _with_rows(self, found: Evidence) -> Evidence:
        entry, chat = found.entry, found.chat
        users = [each.user for each in found.users if _sees(each.membership, entry)]
        if not users:
            return found
        rows = await self._rows.rows_and_times(chat, users)
        kept = await self._queues.queued_for(chat, users, entry)
        return _each(
            found,
            {
                user: (
                    RowWithTimes(*rows[user]) if user in rows else None,
                    OfflineQueueItem(kept[user]) if user in kept else None,
                )
                for user in users
            },
        )

    async def _with_places(self, found: Evidence) -> Evidence:
        users = [each.user for each in found.users if _sees(each.membership, found.entry)]
        try:
            mark = await self._redis.mark(found.chat)
            routes = await self._redis.routes(found.chat.tenant, users)
            seen = await self._redis.last_seen(found.chat.tenant, users)
            heard = await self._redis.listening({r.gateway for some in routes.values() for r in some})
        except UnavailableError as error:
            return replace(found, redis=str(error))
        people = tuple(
            replace(
                each,
                connected=_connected(routes.get(each.user, ()), heard),
                last_seen_ms=seen.get(each.user),
            )
            for each in found.users
        )
        return replace(found, mark=mark, users=people)

    async def _with_topic(self, found: Evidence) -> Evidence:
        entry = found.entry
        try:
            stretch = await self._events.stretch(found.chat)
            topic = PartitionState(partition=stretch.partition, end=stretch.end, committed=stretch.committed)
            if found.now_ms - entry.created_at_ms > self._event_kept_ms:
                return replace(found, topic=replace(topic, searched=None))
            since_ms = entry.created_at_ms - SKEW_MS
            event, searched = await self._events.find(found.chat, entry.sequence, stretch.partition, since_ms)
        except UnavailableError as error:
            return replace(found, kafka=str(error))
        return replace(found, topic=replace(topic, event=event, searched=searched))


def _place(tenant: TenantId, name: str) -> tuple[ChatKey, int]:
    found = split_message_id(MessageId(name))
    if found is None:
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"{name!r} is no message's id.",
            hint="It is <chat>.<sequence>, as in gAB12.40",
        )
    return ChatKey(tenant, found[0]), found[1]


def _sees(membership: Membership | None, entry: Entry) -> bool:
    return membership is not None and may_see(membership.intervals, entry.sequence)


def _each(
    found: Evidence, known: Mapping[UserId, tuple[RowWithTimes | None, OfflineQueueItem | None]]
) -> Evidence:
    people = [
        replace(each, moved=known[each.user][0], queued=known[each.user][1]) if each.user in known else each
        for each in found.users
    ]
    return replace(found, users=tuple(people))


def _connected(routes: Sequence[Route], heard: set[GatewayId]) -> tuple[DeviceRoute, ...]:
    """An epoch is Redis' time in microseconds, when the device came in."""
    return tuple(
        DeviceRoute(each.device, each.gateway, each.epoch // 1000, each.gateway in heard)
        for each in sorted(routes)
    )
