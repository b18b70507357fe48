"""A state machine of all inbox operations in any order, with time, on an engine, compared with plain sets."""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from fixtures.engines import Namespace
from fixtures.inbox_env import DIGEST_MS, InboxEnv, InboxReference
from fixtures.tables import REGION, Tables
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tidings.inboxes.model import NotificationId, NotificationRow
from tidings.inboxes.ports import DeliveryOutcome, InboxRepository
from tidings.inboxes.queries import NotificationFilter
from tidings.inboxes.rules import DAY_MS, HOUR_MS
from tidings.inboxes.store import DynamoInboxRepository
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.open_client import open_client

USERS = ("anna", "ben")
CATEGORIES = (0, 1, 2, 3)
user = st.sampled_from(USERS)
which = st.integers(0, 10**6)
category = st.sampled_from(CATEGORIES)
some_category = st.none() | category.filter(bool)
steps_ms = st.sampled_from((1_000, 2_000, 10_000, 60_000, HOUR_MS, DAY_MS))
lives_ms = st.none() | st.sampled_from((1_500, 4_500, 30_500, 90_500, HOUR_MS + 500))


class Machine(RuleBasedStateMachine):
    """The clock moves by full seconds, and notifications expire between them, so that all clocks agree on the expired ones."""

    tables: Tables
    make_repository: Callable[[DynamoClient], InboxRepository] = DynamoInboxRepository

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.opening: AbstractAsyncContextManager[DynamoClient] = open_client(
            self.tables.url, REGION, self.tables.prefix
        )
        client = self.run(self.opening.__aenter__())
        self.inboxes = self.open(client)
        self.wanted = self.references()
        self.sent: list[tuple[NotificationId, int, int | None]] = []

    def open(self, client: DynamoClient) -> InboxEnv:
        return InboxEnv(type(self).make_repository(client), Namespace().tenant)

    def references(self) -> Mapping[str, InboxReference]:
        return {name: InboxReference() for name in USERS}

    def looked_at(self) -> Collection[str]:
        return USERS

    def run[T](self, doing: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(doing)

    @property
    def now_ms(self) -> int:
        return self.inboxes.clock.at_ms

    @initialize(days=st.sampled_from((None, 1, 3)))
    def keep(self, days: int | None) -> None:
        self.inboxes.retention_days = days
        for each in self.wanted.values():
            each.retention_days = days

    @rule(step_ms=steps_ms, behind_ms=st.sampled_from((0, 0, 1_000, 5_000)))
    def time_passes(self, step_ms: int, behind_ms: int) -> None:
        self.inboxes.clock.at_ms += step_ms
        self.inboxes.delivery_clock.at_ms = self.now_ms - behind_ms

    @rule(category=category, life_ms=lives_ms)
    def send(self, category: int, life_ms: int | None) -> None:
        notification = self.inboxes.new_id()
        self.sent.append((notification, category, None if life_ms is None else self.now_ms + life_ms))

    @precondition(lambda self: self.sent)
    @rule(reader=user, which=which, recent=st.booleans())
    def give(self, reader: str, which: int, *, recent: bool) -> None:
        """Deliver in any order, late, and repeatedly."""
        sent = self.sent[-3:] if recent else self.sent
        notification, category, expires_ms = sent[which % len(sent)]
        wanted = self.wanted[reader]
        gift = self.run(self.inboxes.deliver(reader, notification, category, expires_ms))
        is_known = notification in wanted.delivered | wanted.redacted | wanted.digest_of.keys()
        assert gift is not DeliveryOutcome.EXISTS or is_known
        if gift is DeliveryOutcome.DELIVERED:
            assert not is_known
            self.is_delivered(reader, notification, category, expires_ms)

    def is_delivered(
        self, reader: str, notification: NotificationId, category: int, expires_ms: int | None
    ) -> None:
        wanted = self.wanted[reader]
        wanted.delivered.add(notification)
        wanted.categories[notification] = category
        wanted.sent[notification] = self.row(reader, notification).sent_ms
        self.is_later(reader, notification)
        if expires_ms is not None:
            wanted.expiry[notification] = expires_ms

    @precondition(lambda self: self.sent)
    @rule(reader=user, which=which, recent=st.booleans())
    def gather(self, reader: str, which: int, *, recent: bool) -> None:
        """Deliver to a category with a digest: late, repeatedly, and mixed with deliveries without one."""
        sent = self.sent[-3:] if recent else self.sent
        notification, category, expires_ms = sent[which % len(sent)]
        wanted = self.wanted[reader]
        is_known = notification in wanted.delivered | wanted.redacted | wanted.digest_of.keys()
        first = wanted.open_digest(category, self.now_ms)
        gift = self.run(self.inboxes.gather(reader, notification, category, expires_ms))
        assert gift is not DeliveryOutcome.EXISTS or is_known
        if gift is DeliveryOutcome.GATHERED:
            assert not is_known
            assert first is not None
            wanted.gather(notification, first, expires_ms)
        if gift is DeliveryOutcome.DELIVERED:
            assert not is_known
            assert first is None
            self.is_delivered(reader, notification, category, expires_ms)
            wanted.digests[category] = (notification, self.now_ms + DIGEST_MS)
            wanted.gathered[notification] = {notification}
            wanted.digest_of[notification] = notification

    @rule(reader=user, which=which)
    def read(self, reader: str, which: int) -> None:
        ids = self.some(reader, which)
        self.run(self.inboxes.marker.read(self.inboxes.inbox_key(reader), ids))
        self.wanted[reader].read |= set(ids) & self.wanted[reader].live(self.now_ms)

    @rule(reader=user, which=which)
    def reopen(self, reader: str, which: int) -> None:
        ids, wanted = self.some(reader, which), self.wanted[reader]
        self.run(self.inboxes.marker.reopen(self.inboxes.inbox_key(reader), ids))
        again = set(ids) & wanted.live(self.now_ms) & wanted.read
        self.is_later(reader, *again)
        wanted.read -= again

    @rule(reader=user, which=which, back=st.booleans())
    def archive(self, reader: str, which: int, *, back: bool) -> None:
        ids, wanted, owner = self.some(reader, which), self.wanted[reader], self.inboxes.inbox_key(reader)
        live = set(ids) & wanted.live(self.now_ms)
        if back:
            self.run(self.inboxes.marker.restore(owner, ids))
            wanted.archived -= live
        else:
            self.run(self.inboxes.marker.archive(owner, ids))
            wanted.archived |= live

    @rule(
        reader=user, back_ms=st.none() | st.sampled_from((-5_000, 500, 3_500, 40_500)), category=some_category
    )
    def mark_all(self, reader: str, back_ms: int | None, category: int | None) -> None:
        before_ms = None if back_ms is None else self.now_ms - back_ms
        self.run(self.inboxes.marker.read_all(self.inboxes.inbox_key(reader), before_ms, category))
        is_all = before_ms is None or before_ms >= self.now_ms
        self.wanted[reader].mark_all(None if is_all else before_ms, category)

    @rule(reader=user)
    def see_all(self, reader: str) -> None:
        self.run(self.inboxes.marker.see_all(self.inboxes.inbox_key(reader)))
        self.wanted[reader].seen |= self.wanted[reader].known

    @precondition(lambda self: self.sent)
    @rule(reader=user, which=which)
    def redact(self, reader: str, which: int) -> None:
        notification, category, _ = self.sent[which % len(self.sent)]
        self.run(self.inboxes.withdrawer.withdraw(self.inboxes.inbox_key(reader), notification, category))
        self.wanted[reader].redact(notification)

    @invariant()
    def counts_and_lists_are_as_the_sets_say(self) -> None:
        for reader in self.looked_at():
            self.compare_counts(reader)
            self.compare_lists(reader)

    def compare_counts(self, reader: str) -> None:
        wanted, now_ms = self.wanted[reader], self.now_ms
        unread = wanted.unread(now_ms)
        counted = self.run(self.inboxes.counted(reader))
        assert counted == (len(unread), wanted.by_category(now_ms), len(wanted.unseen(now_ms)))
        sheet = self.run(self.inboxes.queries.counts(self.inboxes.inbox_key(reader)))
        assert sheet.next_change_ms == min(
            (wanted.expiry[n] for n in unread & wanted.expiry.keys()), default=None
        )

    def compare_lists(self, reader: str) -> None:
        wanted, now_ms = self.wanted[reader], self.now_ms
        live = wanted.live(now_ms)
        assert self.listed(reader) == wanted.newest_first(live - wanted.archived)
        assert self.listed(reader, NotificationFilter(is_unread=True)) == wanted.newest_first(
            wanted.unread(now_ms)
        )
        assert self.listed(reader, NotificationFilter(is_archived=True)) == wanted.newest_first(
            live & wanted.archived
        )
        shown = {row.id: (row.gathered, row.content_id) for row in self.run(self.inboxes.rows(reader))}
        assert {first: shown[first] for first in wanted.gathered if first in shown} == {
            first: (len(others), max(others)) for first, others in wanted.gathered.items() if first in shown
        }
        of_one = {n for n in live - wanted.archived if wanted.categories[n] == 1}
        assert self.listed(reader, NotificationFilter(category=1)) == wanted.newest_first(of_one)

    def listed(self, reader: str, wanted: NotificationFilter | None = None) -> list[NotificationId]:
        return self.run(self.inboxes.listed(reader, wanted))

    def is_later(self, reader: str, *notifications: NotificationId) -> None:
        """Check that new or reopened notifications are later than all earlier ones."""
        since, delivered = self.wanted[reader].since, self.wanted[reader].delivered
        before_ms = max((since[each] for each in delivered if each in since), default=0)
        for notification in notifications:
            since[notification] = self.row(reader, notification).since_ms
            assert since[notification] > before_ms

    def row(self, reader: str, notification: NotificationId) -> NotificationRow:
        return self.run(self.inboxes.repository.rows(self.inboxes.inbox_key(reader), [notification]))[
            notification
        ]

    def some(self, reader: str, which: int) -> list[NotificationId]:
        """Return one to three notifications that the user has or had."""
        known = sorted(self.wanted[reader].known)
        return [known[(which + step * 7) % len(known)] for step in range(which % 3 + 1)] if known else []

    def teardown(self) -> None:
        self.run(self.opening.__aexit__(None, None, None))
        self.runner.close()
