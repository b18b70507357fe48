"""Decide which messages a user missed, and publish an offline event for each.

Delivery and gateways only request checks, and never wait for them. A check reads the user's routes, then their watermarks:
acks that a gateway writes when the last device disconnects are then included. A check ends with events, or when the
messages are delivered, read or older than an hour. While a device is connected, the check is repeated every 30 seconds: the
device may disconnect before it has received the messages.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

from tidings.connections.model import OfflineStatus
from tidings.delivery import rules
from tidings.delivery.chat_list import is_muted, with_heads
from tidings.delivery.chat_rows import truncate
from tidings.delivery.mentions import ReadText, open_text
from tidings.delivery.model import ChatRow, OfflineCheck, OfflineMessage
from tidings.delivery.ports import ChatRowReader, OfflineCheckPublisher, PublishOfflineMessage
from tidings.kernel.clock import Clock, format_ms
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import TidingsError, UnavailableError
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId, message_id
from tidings.messages.model import Entry
from tidings.messages.ports import KeyProvider, LogReader

_log = logging.getLogger(__name__)

MAX_MESSAGES = 200
"""Events for one check and chat. Older messages have none: the device reads them when it connects."""
_MAX_RECENT = 50_000
_MAX_BADGES = 10_000
_BADGE_MS = 5_000
_TRIES = 6
_FIRST_WAIT_S = 0.2


type ShowsPreviews = Callable[[TenantId], Awaitable[bool]]
"""Returns whether the tenant allows message text in push notifications."""


@dataclass(slots=True)
class OfflineCheckStats:
    """`settled`: checks without a missed message. `late`: checks that are repeated later. `published`: events.

    `repeated`: events that this process had published before. `failed`: events that Kafka did not accept.
    """

    settled: int = 0
    late: int = 0
    published: int = 0
    repeated: int = 0
    failed: int = 0


class MissedMessages(NamedTuple):
    """Messages of one chat that a user missed."""

    row: ChatRow
    messages: Sequence[Entry]


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineCheckerDeps:
    status: OfflineStatus
    rows: ChatRowReader
    log: LogReader
    keys: KeyProvider
    checks: OfflineCheckPublisher
    publish: PublishOfflineMessage
    read_text: ReadText
    shows_previews: ShowsPreviews
    clock: Clock


@final
class OfflineChecker:
    def __init__(self, deps: OfflineCheckerDeps, stats: OfflineCheckStats) -> None:
        self._deps = deps
        self._stats = stats
        self._recent: OrderedDict[tuple[TenantId, UserId, ChatId, int], None] = OrderedDict()
        self._badges: OrderedDict[tuple[TenantId, UserId], tuple[int, int]] = OrderedDict()

    async def handle(self, checks: Sequence[OfflineCheck]) -> None:
        """Process checks concurrently. Raises an error of a store; events that were published are not repeated then.

        An event that Kafka does not accept is retried alone. After some seconds it is dropped and counted.
        """
        await gather_limited(self._check(check) for check in checks)

    async def _check(self, check: OfflineCheck) -> None:
        try:
            wait_ms = await self._deps.status.offline_after_ms(check.tenant, check.user)
        except UnavailableError:
            # Without Redis no route is known. Devices reconnect and resume in the meantime.
            wait_ms = None
        # Race: the last device acknowledges messages and disconnects. Its gateway writes the ack when it disconnects,
        # so watermarks are read after the routes: without a route, the ack is written or about to be.
        missed = [each async for each in self._missed(check)]
        if not missed:
            self._stats.settled += 1
        elif wait_ms is None or wait_ms > 0:
            # Race: a device registers its route and disconnects before its resume has sent the messages. Its gateway
            # has no record of them, so this check must not end because of the route.
            self._stats.late += 1
            self._deps.checks.check_late(check)
        else:
            for each in missed:
                await self._publish_all(check, each)

    async def _missed(self, check: OfflineCheck) -> AsyncIterator[MissedMessages]:
        now_ms = self._deps.clock.now_ms()
        for row, after, up_to in await self._ranges(check):
            entries = await self._read(ChatKey(check.tenant, row.chat), after, up_to)
            messages = [
                entry
                for entry in entries
                if rules.is_worth_notifying(entry, check.user, now_ms)
                and entry.created_at_ms >= check.since_ms
            ]
            if messages:
                yield MissedMessages(row, messages[-MAX_MESSAGES:])

    async def _ranges(self, check: OfflineCheck) -> list[tuple[ChatRow, int, int]]:
        if check.chat is not None:
            row = await self._deps.rows.row(ChatKey(check.tenant, check.chat), check.user)
            if row is None:
                return []
            [row] = await with_heads(self._deps.rows, check.tenant, check.user, [row])
            found = rules.missed_range(row, check.first, check.last, is_mention=check.is_mention)
            return [] if found is None else [(row, *found)]
        rows = await self._rows(check.tenant, check.user)
        recent = [row for row in rows if row.known.shown and row.known.shown.at_ms >= check.since_ms]
        ranges = [(row, rules.missed_range(row, 1, rules.highest_sequence(row))) for row in recent]
        return [(row, *found) for row, found in ranges if found is not None]

    async def _read(self, chat: ChatKey, after: int, up_to: int) -> list[Entry]:
        entries: list[Entry] = []
        after = max(after, up_to - 2 * MAX_MESSAGES)
        while after < up_to and (page := await self._deps.log.between(chat, after, up_to)):
            entries += page
            after = page[-1].sequence
        return entries

    async def _rows(self, tenant: TenantId, user: UserId) -> list[ChatRow]:
        rows = await self._deps.rows.rows(tenant, user)
        return await with_heads(self._deps.rows, tenant, user, rows)

    async def _publish_all(self, check: OfflineCheck, missed: MissedMessages) -> None:
        chat, user = ChatKey(check.tenant, missed.row.chat), check.user
        fresh = list(self._fresh(chat, user, missed.messages))
        if not fresh:
            return
        badge = await self._badge(chat.tenant, user)
        shows_previews = await self._deps.shows_previews(chat.tenant)
        contents = [(each.sender, each.content) for each in fresh if each.content is not None]
        keys = await self._deps.keys.to_read(chat.tenant, contents)
        muted = is_muted(missed.row, self._deps.clock.now_ms())

        def event(message: Entry) -> OfflineMessage:
            body = open_text(chat, message, keys, self._deps.read_text)
            return OfflineMessage(
                tenant=chat.tenant,
                recipient=user,
                chat=chat.chat,
                message_id=message_id(chat.chat, message.sequence),
                sequence=message.sequence,
                sender=message.sender,
                kind=message.kind,
                at=format_ms(message.created_at_ms),
                badge=badge,
                collapse_key=chat.chat,
                is_muted=muted,
                is_mentioned=user in body.mentions,
                preview=truncate(body.text).decode() if shows_previews and body.text else None,
            )

        await gather_limited(self._publish(event(message)) for message in fresh)

    def _fresh(self, chat: ChatKey, user: UserId, messages: Sequence[Entry]) -> Iterator[Entry]:
        """Return messages without an event of this process. Two devices of a user may disconnect with the same messages."""
        for message in messages:
            if (chat.tenant, user, chat.chat, message.sequence) in self._recent:
                self._stats.repeated += 1
            else:
                yield message

    async def _publish(self, event: OfflineMessage) -> None:
        """Publish one event. Retry it alone, so that no other event is repeated or delayed by more than this."""
        key = (event.tenant, event.recipient, event.chat, event.sequence)
        self._recent[key] = None
        while len(self._recent) > _MAX_RECENT:
            self._recent.popitem(last=False)
        for tried in range(_TRIES):
            try:
                await self._deps.publish(event)
            except TidingsError as error:
                if not error.retryable:
                    raise
                _log.warning("offline event not accepted: %s", error.message)
                await asyncio.sleep(_FIRST_WAIT_S * 2**tried)
            else:
                self._stats.published += 1
                return
        self._recent.pop(key, None)
        self._stats.failed += 1

    async def _badge(self, tenant: TenantId, user: UserId) -> int:
        """Return the unread messages of the user in all chats, read at most once in five seconds."""
        now_ms = self._deps.clock.now_ms()
        found = self._badges.get((tenant, user))
        if found is not None and 0 <= now_ms - found[0] < _BADGE_MS:
            return found[1]
        rows = await self._rows(tenant, user)
        badge = sum(rules.unread_count(row) for row in rows if rules.is_member(row.known))
        self._badges[tenant, user] = (now_ms, badge)
        while len(self._badges) > _MAX_BADGES:
            self._badges.popitem(last=False)
        return badge
