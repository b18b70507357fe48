"""Which devices are told of a broadcast, what makes them be, and what is not asked of DynamoDB for it."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from fixtures.loops import until

from tidings.bus.model import BroadcastLogAdvanced, encode_messages
from tidings.bus.ports import BusHandler, Subscribed, SubscriptionLost
from tidings.gateway import broadcast_notifier as desk_of
from tidings.gateway.broadcast_notifier import BroadcastNotifier
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.ports import InboxUseCases
from tidings.inboxes.broadcasts import rules
from tidings.inboxes.broadcasts.model import (
    PARTS,
    BroadcastEntry,
    BroadcastEntryKind,
    BroadcastIndex,
    BroadcastLogId,
    BroadcastLogView,
    BroadcastRelease,
    BucketRange,
    rollout_bucket,
)
from tidings.inboxes.config import Inbox
from tidings.inboxes.model import InboxId, NotificationContent, NotificationId, NotificationRow
from tidings.inboxes.queries import VisibleNotification
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import DeviceId, DeviceKey, TenantId, UserId, new_ulid, stable_hash

ACME = TenantId("acme")
LOG = BroadcastLogId(ACME, "default")
N1, N2, N3 = (f"01JCQ4Z7N3V5X9B2M8K6T1R0W{letter}" for letter in "DEF")


class World:
    """A log, what it says, who is in which segment, and a channel. Counts what is asked of it."""

    def __init__(self) -> None:
        self.view = BroadcastLogView()
        self.words: dict[str, str] = {}
        self.members: dict[str, set[str]] = {}
        self.asked: list[str] = []
        self.faults = 0
        self.hear: BusHandler | None = None
        self.is_closed = False

    def append(self, kind: BroadcastEntryKind, notification: str, **more: Any) -> int:
        entry = BroadcastEntry(
            sequence=self.view.head + 1,
            kind=kind,
            id=new_ulid(),
            notification=notification,
            at_ms=SystemClock().now_ms(),
            expires_ms=2**50,
            **more,
        )
        self.words.setdefault(notification, notification)
        self.view = rules.apply_entries(self.view, [entry], 0)
        return entry.sequence

    def say(self, *amended: str) -> None:
        assert self.hear
        self.hear(encode_messages((BroadcastLogAdvanced(self.view.head, amended),)))

    def subscribe_broadcasts(self, tenant: TenantId, inbox: str, handler: BusHandler) -> Any:
        assert (tenant, inbox) == LOG
        self.hear = handler
        return SimpleNamespace(close=lambda: setattr(self, "is_closed", True))

    async def now(self, _: BroadcastLogId) -> BroadcastLogView:
        self._fail()
        self.asked.append("log")
        return self.view

    async def index(self, _: BroadcastLogId) -> BroadcastIndex:
        self._fail()
        return BroadcastIndex(self.view)

    async def of(self, _: TenantId, inbox: str, /) -> Inbox:
        return Inbox(id=InboxId(inbox), title="News")

    async def is_in(self, _: TenantId, segment: str, user: UserId) -> bool:
        self.asked.append(f"profile of {user}")
        return user in self.members[segment]

    async def shown(self, _: TenantId, showing: BroadcastRelease) -> VisibleNotification:
        self.asked.append(f"words of {showing.notification}")
        name = NotificationId(showing.notification)
        content = NotificationContent(
            id=name,
            inbox=InboxId("default"),
            category=0,
            version=1,
            sealed=b"",
            created_ms=0,
            job="",
            count=1,
        )
        row = NotificationRow(id=name, category=0, delivered_ms=showing.at_ms)
        message = {"title": self.words[showing.notification]}
        return VisibleNotification(row, content, message, is_read=False, is_seen=False, read_ms=None)

    def _fail(self) -> None:
        if self.faults:
            self.faults -= 1
            raise TidingsError(Code.OVERLOADED, "not now")


class Phone:
    def __init__(self, user: str) -> None:
        self.frames: list[dict[str, Any]] = []
        self.seat = ConnectedDevice(DeviceKey(ACME, UserId(user), DeviceId("phone")), cast("Any", self))

    def push(self, frame: bytes) -> None:
        self.frames.append(msgspec.json.decode(frame)["broadcast"])

    @property
    def added(self) -> list[str]:
        return [each["id"] for frame in self.frames for each in frame.get("added", ())]

    @property
    def gone(self) -> list[str]:
        return [each for frame in self.frames for each in frame.get("gone", ())]


type Stage = Callable[..., tuple[World, BroadcastNotifier, list[Phone]]]


@pytest.fixture
def stage() -> Stage:
    def made(users: int = 3, spread_s: float = 0.0) -> tuple[World, BroadcastNotifier, list[Phone]]:
        """Phones that look, answered with the log as it is, on a channel that stands."""
        world = World()
        cases = InboxUseCases(*([cast("Any", world)] * 5))
        desk = BroadcastNotifier(cases, world, report, clock=SystemClock(), spread_s=spread_s)
        phones = [Phone(f"user{number}") for number in range(users)]
        for phone in phones:
            desk.enter(phone.seat, "default")
            desk.answered(phone.seat, "default", 0, has_list=True)
        return world, desk, phones

    return made


def report(what: str, error: BaseException) -> None:
    pytest.fail(f"{what}: {error!r}")


async def stands(world: World, *, was_lost: bool = False) -> None:
    assert world.hear
    before = world.asked.count("log")
    world.hear(Subscribed(was_lost=was_lost))
    await until(lambda: world.asked.count("log") > before)


async def quiet(desk: BroadcastNotifier) -> None:
    await until(lambda: not desk._reads and not any(each.pushes for each in desk._channels.values()))


async def test_everybody_who_looks_is_told_by_one_read_of_the_log_and_one_of_the_words(stage: Stage) -> None:
    world, desk, phones = stage(200)
    await stands(world)
    world.asked.clear()
    world.append(BroadcastEntryKind.PUBLISH, N1)
    world.say()
    await until(lambda: all(phone.added == [N1] for phone in phones))
    await quiet(desk)
    assert world.asked == ["log", f"words of {N1}"]
    assert phones[0].frames[0]["up_to"] == 1
    assert "counts" not in phones[0].frames[0]
    assert desk.pushes == 200


async def test_a_step_of_a_ramp_is_told_to_its_users_alone(stage: Stage) -> None:
    world, desk, phones = stage(100)
    await stands(world)
    world.append(BroadcastEntryKind.PUBLISH, N1, span=BucketRange(0, PARTS // 2))
    world.say()
    first = {
        each.seat.user
        for each in phones
        if rollout_bucket(stable_hash(each.seat.user), stable_hash(N1)) < PARTS // 2
    }
    await until(lambda: {each.seat.user for each in phones if each.added} == first)
    world.append(BroadcastEntryKind.RAMP, N1, span=BucketRange(PARTS // 2, PARTS))
    world.say()
    await until(lambda: all(phone.added == [N1] for phone in phones))
    await quiet(desk)
    assert 30 < len(first) < 70
    assert desk.pushes == 100


async def test_a_segment_is_asked_once_for_each_user_at_his_moment(stage: Stage) -> None:
    world, desk, phones = stage(20)
    world.members["pros"] = {"user3", "user7"}
    await stands(world)
    world.append(BroadcastEntryKind.PUBLISH, N1, segment="pros")
    world.say()
    await until(lambda: desk.pushes == 2)
    await quiet(desk)
    assert {phone.seat.user for phone in phones if phone.added} == world.members["pros"]
    assert sum(each.startswith("profile") for each in world.asked) == 20


async def test_what_a_list_showed_already_is_not_told_again(stage: Stage) -> None:
    world, desk, (one, two, three) = stage()
    await stands(world)
    world.append(BroadcastEntryKind.PUBLISH, N1)
    desk.answered(one.seat, "default", 1, has_list=True)
    desk.answered(two.seat, "default", 1, has_list=False)
    world.say()
    await until(lambda: two.added == three.added == [N1])
    await quiet(desk)
    assert one.frames == []


async def test_a_word_that_was_lost_is_made_up_for_by_the_next_look_of_anybody(stage: Stage) -> None:
    world, desk, (one, two, three) = stage()
    await stands(world)
    await quiet(desk)
    world.append(BroadcastEntryKind.PUBLISH, N1)
    desk.answered(one.seat, "default", 1, has_list=True)
    await until(lambda: two.added == three.added == [N1])
    assert one.frames == []


async def test_what_came_before_the_channel_stood_or_while_it_was_lost_is_told_when_it_stands(
    stage: Stage,
) -> None:
    world, _, phones = stage()
    world.append(BroadcastEntryKind.PUBLISH, N1)
    await stands(world)
    await until(lambda: all(phone.added == [N1] for phone in phones))
    assert world.hear
    world.hear(SubscriptionLost("away"))
    world.append(BroadcastEntryKind.PUBLISH, N2)
    world.append(BroadcastEntryKind.REDACT, N1)
    await stands(world, was_lost=True)
    await until(lambda: all(phone.added == [N1, N2] and phone.gone == [N1] for phone in phones))


async def test_who_comes_to_an_inbox_with_old_broadcasts_is_told_of_none_of_them(stage: Stage) -> None:
    world, desk, phones = stage(0)
    for name in (N1, N2):
        world.append(BroadcastEntryKind.PUBLISH, name)
    phone = Phone("anna")
    desk.enter(phone.seat, "default")
    await stands(world)
    await quiet(desk)
    assert world.asked == ["log"]
    desk.answered(phone.seat, "default", 2, has_list=True)
    world.append(BroadcastEntryKind.PUBLISH, N3)
    world.say()
    await until(lambda: phone.added)
    assert (phone.added, phones) == ([N3], [])


async def test_what_is_redacted_before_a_users_moment_is_not_told_to_him(stage: Stage) -> None:
    """The word of the redaction is lost: the walk looks at the log itself."""
    world, desk, phones = stage(300, spread_s=3.0)
    await stands(world)
    world.append(BroadcastEntryKind.PUBLISH, N1)
    world.say()
    await until(lambda: desk.pushes > 0)
    world.append(BroadcastEntryKind.REDACT, N1)
    await quiet(desk)
    told = [phone for phone in phones if phone.added]
    assert 0 < len(told) < 200


async def test_a_redaction_ends_the_walk_at_once_and_is_told(stage: Stage) -> None:
    world, desk, phones = stage(100, spread_s=1.0)
    await stands(world)
    world.append(BroadcastEntryKind.PUBLISH, N1)
    world.say()
    await until(lambda: desk.pushes > 0)
    world.append(BroadcastEntryKind.REDACT, N1)
    world.say()
    await until(lambda: all(phone.gone == [N1] for phone in phones))
    assert all(phone.frames[-1].get("gone") for phone in phones)
    assert 0 < sum(bool(phone.added) for phone in phones) < 100


async def test_other_words_are_told_as_they_are_now(stage: Stage) -> None:
    world, desk, phones = stage()
    await stands(world)
    world.append(BroadcastEntryKind.PUBLISH, N1)
    world.say()
    await until(lambda: all(phone.added for phone in phones))
    world.words[N1] = "corrected"
    world.say(N1)
    await until(lambda: all(len(phone.frames) == 2 for phone in phones))
    assert phones[0].frames[1]["amended"][0]["message"] == {"title": "corrected"}
    world.say("never heard of")
    await quiet(desk)


async def test_a_log_that_can_not_be_read_for_a_moment_is_read_later(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk_of, "_RETRY_S", 0.01)
    world, _, phones = stage()
    await stands(world)
    world.append(BroadcastEntryKind.PUBLISH, N1)
    world.faults = 2
    world.say()
    await until(lambda: all(phone.added == [N1] for phone in phones))


async def test_after_much_has_happened_devices_are_told_to_list_again(stage: Stage) -> None:
    world, desk, phones = stage()
    await stands(world)
    for _ in range(desk_of.MAX_CONCURRENT_PUSHES + 1):
        world.append(BroadcastEntryKind.PUBLISH, new_ulid())
    world.say()
    await until(lambda: all(phone.frames for phone in phones))
    await quiet(desk)
    assert [frame.get("has_more") for frame in phones[0].frames] == [True]
    assert phones[0].frames[0]["up_to"] == desk_of.MAX_CONCURRENT_PUSHES + 1


async def test_an_inbox_that_nobody_looks_at_is_not_listened_to(stage: Stage) -> None:
    world, desk, phones = stage(2, spread_s=60)
    await stands(world)
    world.append(BroadcastEntryKind.PUBLISH, N1)
    world.say()
    await until(lambda: any(each.pushes for each in desk._channels.values()))
    for phone in phones:
        desk.leave(phone.seat, "default")
    assert world.is_closed
    assert len(desk) == 0
    await asyncio.sleep(0)
    world.say()
    await until(lambda: not desk._reads)
    await until(lambda: len(asyncio.all_tasks()) == 1)
