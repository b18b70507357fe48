"""Every operation on inboxes in any order, time included, on an engine; counts and lists are held against plain sets."""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from fixtures.engines import Namespace
from fixtures.inbox_env import InboxEnv, InboxReference
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
    """The clock moves by full seconds and what expires does so between them: then all agree on what has expired."""

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
    @rule(who=user, which=which, recent=st.booleans())
    def give(self, who: str, which: int, *, recent: bool) -> None:
        """In any order, late, and again and again."""
        sent = self.sent[-3:] if recent else self.sent
        notification, category, expires_ms = sent[which % len(sent)]
        wanted = self.wanted[who]
        gift = self.run(self.inboxes.deliver(who, notification, category, expires_ms))
        is_known = notification in wanted.delivered | wanted.redacted
        assert gift is not DeliveryOutcome.EXISTS or is_known
        if gift is DeliveryOutcome.DELIVERED:
            assert not is_known
            wanted.delivered.add(notification)
            wanted.categories[notification] = category
            wanted.sent[notification] = self.row(who, notification).sent_ms
            self.is_later(who, notification)
            if expires_ms is not None:
                wanted.expiry[notification] = expires_ms

    @rule(who=user, which=which)
    def read(self, who: str, which: int) -> None:
        ids = self.some(who, which)
        self.run(self.inboxes.marker.read(self.inboxes.inbox_key(who), ids))
        self.wanted[who].read |= set(ids) & self.wanted[who].live(self.now_ms)

    @rule(who=user, which=which)
    def reopen(self, who: str, which: int) -> None:
        ids, wanted = self.some(who, which), self.wanted[who]
        self.run(self.inboxes.marker.reopen(self.inboxes.inbox_key(who), ids))
        again = set(ids) & wanted.live(self.now_ms) & wanted.read
        self.is_later(who, *again)
        wanted.read -= again

    @rule(who=user, which=which, back=st.booleans())
    def archive(self, who: str, which: int, *, back: bool) -> None:
        ids, wanted, owner = self.some(who, which), self.wanted[who], self.inboxes.inbox_key(who)
        live = set(ids) & wanted.live(self.now_ms)
        if back:
            self.run(self.inboxes.marker.restore(owner, ids))
            wanted.archived -= live
        else:
            self.run(self.inboxes.marker.archive(owner, ids))
            wanted.archived |= live

    @rule(who=user, back_ms=st.none() | st.sampled_from((-5_000, 500, 3_500, 40_500)), category=some_category)
    def mark_all(self, who: str, back_ms: int | None, category: int | None) -> None:
        before_ms = None if back_ms is None else self.now_ms - back_ms
        self.run(self.inboxes.marker.read_all(self.inboxes.inbox_key(who), before_ms, category))
        is_all = before_ms is None or before_ms >= self.now_ms
        self.wanted[who].mark_all(None if is_all else before_ms, category)

    @rule(who=user)
    def see_all(self, who: str) -> None:
        self.run(self.inboxes.marker.see_all(self.inboxes.inbox_key(who)))
        self.wanted[who].seen |= self.wanted[who].known

    @precondition(lambda self: self.sent)
    @rule(who=user, which=which)
    def redact(self, who: str, which: int) -> None:
        notification, category, _ = self.sent[which % len(self.sent)]
        self.run(self.inboxes.withdrawer.withdraw(self.inboxes.inbox_key(who), notification, category))
        self.wanted[who].redacted.add(notification)

    @invariant()
    def counts_and_lists_are_as_the_sets_say(self) -> None:
        for who in self.looked_at():
            self.compare_counts(who)
            self.compare_lists(who)

    def compare_counts(self, who: str) -> None:
        wanted, now_ms = self.wanted[who], self.now_ms
        unread = wanted.unread(now_ms)
        counted = self.run(self.inboxes.counted(who))
        assert counted == (len(unread), wanted.by_category(now_ms), len(wanted.unseen(now_ms)))
        sheet = self.run(self.inboxes.queries.counts(self.inboxes.inbox_key(who)))
        assert sheet.next_change_ms == min(
            (wanted.expiry[n] for n in unread & wanted.expiry.keys()), default=None
        )

    def compare_lists(self, who: str) -> None:
        wanted, now_ms = self.wanted[who], self.now_ms
        live = wanted.live(now_ms)
        assert self.listed(who) == wanted.newest_first(live - wanted.archived)
        assert self.listed(who, NotificationFilter(is_unread=True)) == wanted.newest_first(
            wanted.unread(now_ms)
        )
        assert self.listed(who, NotificationFilter(is_archived=True)) == wanted.newest_first(
            live & wanted.archived
        )
        of_one = {n for n in live - wanted.archived if wanted.categories[n] == 1}
        assert self.listed(who, NotificationFilter(category=1)) == wanted.newest_first(of_one)

    def listed(self, who: str, wanted: NotificationFilter | None = None) -> list[NotificationId]:
        return self.run(self.inboxes.listed(who, wanted))

    def is_later(self, who: str, *notifications: NotificationId) -> None:
        """What is given or made unread again is later than all that was before."""
        since, there = self.wanted[who].since, self.wanted[who].delivered
        before_ms = max((since[each] for each in there if each in since), default=0)
        for notification in notifications:
            since[notification] = self.row(who, notification).since_ms
            assert since[notification] > before_ms

    def row(self, who: str, notification: NotificationId) -> NotificationRow:
        return self.run(self.inboxes.repository.rows(self.inboxes.inbox_key(who), [notification]))[
            notification
        ]

    def some(self, who: str, which: int) -> list[NotificationId]:
        """One to three of what the user has, now or earlier."""
        known = sorted(self.wanted[who].known)
        return [known[(which + step * 7) % len(known)] for step in range(which % 3 + 1)] if known else []

    def teardown(self) -> None:
        self.run(self.opening.__aexit__(None, None, None))
        self.runner.close()
