"""Decide which messages a user missed, and publish an offline event for each.

Delivery and gateways only request checks, and never wait for them. A check reads the routes of its users, then their
watermarks: acks that a gateway writes when the last device disconnects are then included. A check ends with events, or when
the messages are delivered, read or older than an hour. While a device is connected, the check of its user is repeated every
30 seconds: the device may disconnect before it has received the messages.
"""

import asyncio
import logging
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

from msgspec.structs import replace

from tidings.connections.model import OfflineStatus
from tidings.delivery import rules
from tidings.delivery.chat_list import combine_with_heads, is_muted, needs_head, with_heads
from tidings.delivery.chat_rows import truncate
from tidings.delivery.mentions import ReadText, open_text
from tidings.delivery.model import ChatRow, OfflineCheck, OfflineMessage
from tidings.delivery.ports import ChatRowReader, OfflineCheckPublisher, PublishOfflineMessage, ReadRowsOf
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


class MissedRange(NamedTuple):
    """A user, their row of a chat, and the entries `(after, up_to]` that none of their devices has received."""

    user: UserId
    row: ChatRow
    after: int
    up_to: int


class MissedMessages(NamedTuple):
    """Messages of one chat that a user missed."""

    row: ChatRow
    messages: Sequence[Entry]


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineCheckerDeps:
    status: OfflineStatus
    rows: ChatRowReader
    rows_of: ReadRowsOf
    log: LogReader
    keys: KeyProvider
    checks: OfflineCheckPublisher
    publish: PublishOfflineMessage
    read_text: ReadText
    shows_previews: ShowsPreviews
    clock: Clock


def merge_checks(checks: Sequence[OfflineCheck]) -> list[OfflineCheck]:
    """Merge checks of the same users and chat whose entries adjoin, so that a burst of messages is read once."""
    merged: list[OfflineCheck] = []
    last_of: dict[object, int] = {}
    for check in checks:
        key = (check.tenant, check.chat, check.users, check.since_ms, check.is_mention)
        before = merged[last_of[key]] if key in last_of else None
        if before is not None and _is_adjoining(before, check):
            merged[last_of[key]] = replace(before, last=max(before.last, check.last))
        else:
            last_of[key] = len(merged)
            merged.append(check)
    return merged


def _is_adjoining(before: OfflineCheck, check: OfflineCheck) -> bool:
    """Return whether both checks are one range, for which events are published without omissions."""
    return before.first <= check.first <= before.last + 1 and check.last - before.first < MAX_MESSAGES


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
        await gather_limited(self._check(check) for check in merge_checks(checks))

    async def _check(self, check: OfflineCheck) -> None:
        waits = await gather_limited(self._wait_ms(check.tenant, user) for user in check.users)
        # Race: the last device acknowledges messages and disconnects. Its gateway writes the ack when it disconnects,
        # so watermarks are read after the routes: without a route, the ack is written or about to be.
        missed = await self._missed(check)
        # Race: a device registers its route and disconnects before its resume has sent the messages. Its gateway has no
        # record of them, so a check must not end because of the route.
        late = [
            user
            for user, wait_ms in zip(check.users, waits, strict=True)
            if user in missed and (wait_ms is None or wait_ms > 0)
        ]
        self._stats.settled += len(check.users) - len(missed)
        self._stats.late += len(late)
        if late:
            self._deps.checks.check_late(replace(check, users=tuple(late)))
        offline = missed.keys() - set(late)
        await gather_limited(
            self._publish_all(check.tenant, user, each) for user in offline for each in missed[user]
        )

    async def _wait_ms(self, tenant: TenantId, user: UserId) -> int | None:
        """Return how long to wait until the user counts as offline. None: they are connected."""
        try:
            return await self._deps.status.offline_after_ms(tenant, user)
        except UnavailableError:
            # Without Redis no route is known. Devices reconnect and resume in the meantime.
            return None

    async def _missed(self, check: OfflineCheck) -> dict[UserId, list[MissedMessages]]:
        """Return the missed messages of each user who missed any. A range that many users missed is read once."""
        now_ms = self._deps.clock.now_ms()
        ranges = await self._ranges(check)
        places = list(dict.fromkeys((each.row.chat, each.after, each.up_to) for each in ranges))
        read = await gather_limited(
            self._read(ChatKey(check.tenant, chat), after, up_to) for chat, after, up_to in places
        )
        entries, missed = (
            dict(zip(places, read, strict=True)),
            defaultdict[UserId, list[MissedMessages]](list),
        )
        for user, row, after, up_to in ranges:
            messages = [
                entry
                for entry in entries[row.chat, after, up_to]
                if rules.is_worth_notifying(entry, user, now_ms) and entry.created_at_ms >= check.since_ms
            ]
            if messages:
                missed[user].append(MissedMessages(row, messages[-MAX_MESSAGES:]))
        return missed

    async def _ranges(self, check: OfflineCheck) -> list[MissedRange]:
        if check.chat is not None:
            return await self._ranges_in(check, ChatKey(check.tenant, check.chat))
        found: list[MissedRange] = []
        for user in check.users:
            for row in await self._rows(check.tenant, user):
                is_recent = row.known.shown is not None and row.known.shown.at_ms >= check.since_ms
                missed = rules.missed_range(row, 1, rules.highest_sequence(row)) if is_recent else None
                if missed is not None:
                    found.append(MissedRange(user, row, *missed))
        return found

    async def _ranges_in(self, check: OfflineCheck, chat: ChatKey) -> list[MissedRange]:
        reader, found = self._deps.rows, list[MissedRange]()
        rows = await self._deps.rows_of(chat, check.users)
        heads = await reader.heads(chat.tenant, [chat.chat]) if any(map(needs_head, rows.values())) else {}
        for user, row in rows.items():
            [current] = await combine_with_heads(reader, chat.tenant, user, [row], heads)
            missed = rules.missed_range(current, check.first, check.last, is_mention=check.is_mention)
            if missed is not None:
                found.append(MissedRange(user, current, *missed))
        return found

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

    async def _publish_all(self, tenant: TenantId, user: UserId, missed: MissedMessages) -> None:
        chat = ChatKey(tenant, missed.row.chat)
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
