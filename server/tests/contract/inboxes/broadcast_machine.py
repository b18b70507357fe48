"""The state machine of inboxes with broadcasts in addition: segments, schedules, rollouts, expiry, joins, recalls."""

from collections.abc import Collection, Mapping
from typing import override

from contract.inboxes.machine import USERS, Machine, category, lives_ms, steps_ms, which
from fixtures.broadcast_reference import BroadcastReference
from fixtures.engines import Namespace
from fixtures.inbox_env import DEFAULT, InboxEnv, InboxReference
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule
from msgspec.structs import replace

from tidings.app.wiring.broadcasts import BroadcastServices
from tidings.inboxes.broadcasts import rules as log_rules
from tidings.inboxes.broadcasts.model import (
    LONGEST_MS,
    PARTS,
    BroadcastDraft,
    BroadcastEntry,
    BroadcastEntryKind,
    BroadcastLogId,
)
from tidings.inboxes.model import NotificationId
from tidings.inboxes.preferences import NO_PREFERENCES, Channel, UserPreferences, change_preferences
from tidings.inboxes.store import DynamoPreferenceStore
from tidings.kernel.ids import UserId
from tidings.platform.dynamo.client import DynamoClient

NEWCOMER = "cleo"
EVERYBODY = (*USERS, NEWCOMER)
LIST, PREDICATE = "vip", "pro"
IS_PRO = {"attribute": "plan", "is": "pro"}
segment = st.none() | st.sampled_from((LIST, PREDICATE))
percent = st.sampled_from((25, 50, 75, 100))
someone = st.sampled_from(EVERYBODY)


class BroadcastMachine(Machine):
    """A new user reads nothing before `newcomer_comes`, and is then compared with the sets like the others."""

    def __init__(self) -> None:
        self.pros: set[str] = set()
        self.vips: set[str] = set()
        self.has_come = False
        self.drafts: list[BroadcastDraft] = []
        self.planned: list[tuple[int, BroadcastDraft]] = []
        self.choices: dict[str, UserPreferences] = {}
        super().__init__()
        self.run(self.cases.segments.set_predicate(self.inboxes.tenant, PREDICATE, IS_PRO))
        self.list_users(["nobody"])

    @override
    def open(self, client: DynamoClient) -> InboxEnv:
        self.preferences = DynamoPreferenceStore(client)
        inboxes = InboxEnv(type(self).make_repository(client), Namespace().tenant, client)
        # Always the same time: the users of a rollout step depend on the notification's id, which contains the time.
        inboxes.clock.at_ms = inboxes.delivery_clock.at_ms = 1_800_000_000_000
        return inboxes

    @override
    def references(self) -> Mapping[str, InboxReference]:
        self.wide = {name: BroadcastReference(user=name, is_in=self.is_in) for name in EVERYBODY}
        return self.wide

    @override
    def looked_at(self) -> Collection[str]:
        return EVERYBODY if self.has_come else USERS

    @property
    def cases(self) -> BroadcastServices:
        assert self.inboxes.broadcasts is not None
        return self.inboxes.broadcasts

    @property
    def log(self) -> BroadcastLogId:
        return BroadcastLogId(self.inboxes.tenant, DEFAULT)

    def is_in(self, user: str, name: str) -> bool:
        return user in (self.vips if name == LIST else self.pros)

    def append(self, decide: log_rules.AppendRule) -> BroadcastEntry | None:
        return self.run(self.cases.appender.append(self.log, decide))

    def show(self, draft: BroadcastDraft, up_to_percent: int) -> None:
        entry = self.append(log_rules.decide_step(draft, up_to_percent * PARTS // 100))
        if entry is not None:
            for each in self.wide.values():
                each.offer(entry)

    def draft(self, category: int, life_ms: int | None, segment: str | None) -> BroadcastDraft:
        lives_ms = LONGEST_MS - 500 if life_ms is None else life_ms
        return BroadcastDraft(
            kind=BroadcastEntryKind.PUBLISH,
            notification=self.inboxes.new_id(),
            category=category,
            segment=segment,
            expires_ms=self.now_ms + lives_ms,
        )

    @rule(category=category, life_ms=lives_ms, segment=segment, percent=percent)
    def publish(self, category: int, life_ms: int | None, segment: str | None, percent: int) -> None:
        draft = self.draft(category, life_ms, segment)
        self.drafts.append(draft)
        self.show(draft, percent)

    @rule(category=category, life_ms=lives_ms, segment=segment, wait_ms=steps_ms)
    def schedule(self, category: int, life_ms: int | None, segment: str | None, wait_ms: int) -> None:
        self.planned.append((self.now_ms + wait_ms, self.draft(category, life_ms, segment)))

    @override
    @rule(step_ms=steps_ms, behind_ms=st.sampled_from((0, 0, 1_000, 5_000)))
    def time_passes(self, step_ms: int, behind_ms: int) -> None:
        super().time_passes(step_ms, behind_ms)
        due = [draft for at_ms, draft in self.planned if at_ms <= self.now_ms]
        self.planned = [each for each in self.planned if each[0] > self.now_ms]
        for draft in due:
            self.drafts.append(draft)
            self.show(draft, 100)

    @precondition(lambda self: self.drafts)
    @rule(which=which, percent=percent)
    def ramp(self, which: int, percent: int) -> None:
        self.show(self.drafts[which % len(self.drafts)], percent)

    @precondition(lambda self: self.live_drafts())
    @rule(which=which)
    def halt(self, which: int) -> None:
        live = self.live_drafts()
        self.append(log_rules.decide_halt(live[which % len(live)].notification))

    @precondition(lambda self: self.live_drafts())
    @rule(which=which)
    def recall(self, which: int) -> None:
        live = self.live_drafts()
        draft = live[which % len(live)]
        self.append(log_rules.decide_redact(draft.notification))
        self.drafts.remove(draft)
        for each in self.wide.values():
            each.recalled.add(NotificationId(draft.notification))

    def live_drafts(self) -> list[BroadcastDraft]:
        return [each for each in self.drafts if each.expires_ms > self.now_ms]

    @rule(reader=someone)
    def change_plan(self, reader: str) -> None:
        self.pros ^= {reader}
        plan = "pro" if reader in self.pros else "free"
        self.run(self.set_profile(reader, plan))

    async def set_profile(self, reader: str, plan: str, created_ms: int | None = 0) -> None:
        await self.cases.profiles.set(
            self.inboxes.tenant, UserId(reader), {"plan": plan}, created_ms, self.now_ms
        )

    @rule(users=st.lists(someone, min_size=1, max_size=3))
    def list_users(self, users: list[str]) -> None:
        async def listed() -> None:
            tenant, segments = self.inboxes.tenant, self.cases.segments
            uploaded = await segments.upload(tenant, LIST, [UserId(each) for each in users], None)
            await segments.activate(tenant, LIST, uploaded.newest)

        self.run(listed())
        self.vips = set(users)

    @rule(category=category, life_ms=lives_ms)
    def publish_critical(self, category: int, life_ms: int | None) -> None:
        draft = replace(self.draft(category, life_ms, None), is_critical=True)
        self.drafts.append(draft)
        self.show(draft, 100)

    @rule(reader=someone, category=category)
    def switch_category(self, reader: str, category: int) -> None:
        """Switch the channel `inbox` of a category off, or on again."""
        self.wide[reader].off ^= {category}
        is_on = category not in self.wide[reader].off
        before = self.choices.get(reader, NO_PREFERENCES)
        after = change_preferences(before, {}, {category: {Channel.INBOX: is_on}}, self.now_ms)
        assert self.run(self.preferences.write(self.inboxes.inbox_key(reader), after))
        self.choices[reader] = after

    @precondition(lambda self: not self.has_come)
    @rule(ago_ms=st.none() | st.sampled_from((500, 5_500, 60_500)))
    def newcomer_comes(self, ago_ms: int | None) -> None:
        """Let the new user join, with or without a profile that has a creation time."""
        self.has_come = True
        if ago_ms is not None and NEWCOMER not in self.pros | self.vips and not self.had_profile:
            self.wide[NEWCOMER].created_ms = self.now_ms - ago_ms
            self.run(self.set_profile(NEWCOMER, "free", self.now_ms - ago_ms))

    @property
    def had_profile(self) -> bool:
        profile = self.run(self.cases.profiles.read(self.inboxes.tenant, UserId(NEWCOMER)))
        return profile is not None

    @override
    def compare_counts(self, reader: str) -> None:
        self.wide[reader].look()
        super().compare_counts(reader)

    @override
    def is_later(self, reader: str, *notifications: NotificationId) -> None:
        offered = self.wide[reader].offered
        super().is_later(reader, *(each for each in notifications if each not in offered))
        for notification in notifications:
            if notification in offered:
                self.wide[reader].since[notification] = self.now_ms

    @initialize(days=st.sampled_from((None, 1, 3)))
    @override
    def keep(self, days: int | None) -> None:
        super().keep(days)
