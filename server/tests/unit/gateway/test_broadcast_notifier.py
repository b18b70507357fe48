"""Which devices are notified of a broadcast, what triggers it, and which reads of DynamoDB it avoids."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from fixtures.loops import until

from tidings.bus.model import BroadcastLogAdvanced, encode_messages
from tidings.bus.ports import BusHandler, Subscribed, SubscriptionLost
from tidings.gateway import broadcast_notifier
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


class FakeBroadcasts:
    """A broadcast log with its contents, the members of segments, and a channel. It counts the reads."""

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
        self.device = ConnectedDevice(DeviceKey(ACME, UserId(user), DeviceId("phone")), cast("Any", self))

    def push(self, frame: bytes) -> None:
        self.frames.append(msgspec.json.decode(frame)["broadcast"])

    @property
    def added(self) -> list[str]:
        return [each["id"] for frame in self.frames for each in frame.get("added", ())]

    @property
    def gone(self) -> list[str]:
        return [each for frame in self.frames for each in frame.get("removed", ())]


type OpenNotifier = Callable[..., tuple[FakeBroadcasts, BroadcastNotifier, list[Phone]]]


@pytest.fixture
def open_notifier() -> OpenNotifier:
    def made(users: int = 3, spread_s: float = 0.0) -> tuple[FakeBroadcasts, BroadcastNotifier, list[Phone]]:
        """Return phones that watch the inbox and have the current log, on a confirmed channel."""
        broadcasts = FakeBroadcasts()
        cases = InboxUseCases(*([cast("Any", broadcasts)] * 6))
        notifier = BroadcastNotifier(
            cases, cast("Any", broadcasts), report, clock=SystemClock(), spread_s=spread_s
        )
        phones = [Phone(f"user{number}") for number in range(users)]
        for phone in phones:
            notifier.enter(phone.device, "default")
            notifier.answered(phone.device, "default", 0, has_list=True)
        return broadcasts, notifier, phones

    return made


def report(what: str, error: BaseException) -> None:
    pytest.fail(f"{what}: {error!r}")


async def subscribe(broadcasts: FakeBroadcasts, *, was_lost: bool = False) -> None:
    assert broadcasts.hear
    before = broadcasts.asked.count("log")
    broadcasts.hear(Subscribed(was_lost=was_lost))
    await until(lambda: broadcasts.asked.count("log") > before)


async def quiet(notifier: BroadcastNotifier) -> None:
    await until(lambda: not notifier._reads and not any(each.pushes for each in notifier._channels.values()))


async def test_all_watchers_are_notified_with_one_read_of_log_and_content(
    open_notifier: OpenNotifier,
) -> None:
    broadcasts, notifier, phones = open_notifier(200)
    await subscribe(broadcasts)
    broadcasts.asked.clear()
    broadcasts.append(BroadcastEntryKind.PUBLISH, N1)
    broadcasts.say()
    await until(lambda: all(phone.added == [N1] for phone in phones))
    await quiet(notifier)
    assert broadcasts.asked == ["log", f"words of {N1}"]
    assert phones[0].frames[0]["up_to"] == 1
    assert "counts" not in phones[0].frames[0]
    assert notifier.pushes == 200


async def test_a_rollout_step_is_announced_only_to_its_users(open_notifier: OpenNotifier) -> None:
    broadcasts, notifier, phones = open_notifier(100)
    await subscribe(broadcasts)
    broadcasts.append(BroadcastEntryKind.PUBLISH, N1, span=BucketRange(0, PARTS // 2))
    broadcasts.say()
    first = {
        each.device.user
        for each in phones
        if rollout_bucket(stable_hash(each.device.user), stable_hash(N1)) < PARTS // 2
    }
    await until(lambda: {each.device.user for each in phones if each.added} == first)
    broadcasts.append(BroadcastEntryKind.RAMP, N1, span=BucketRange(PARTS // 2, PARTS))
    broadcasts.say()
    await until(lambda: all(phone.added == [N1] for phone in phones))
    await quiet(notifier)
    assert 30 < len(first) < 70
    assert notifier.pushes == 100


async def test_the_segment_is_checked_once_per_user_in_their_slot(open_notifier: OpenNotifier) -> None:
    broadcasts, notifier, phones = open_notifier(20)
    broadcasts.members["pros"] = {"user3", "user7"}
    await subscribe(broadcasts)
    broadcasts.append(BroadcastEntryKind.PUBLISH, N1, segment="pros")
    broadcasts.say()
    await until(lambda: notifier.pushes == 2)
    await quiet(notifier)
    assert {phone.device.user for phone in phones if phone.added} == broadcasts.members["pros"]
    assert sum(each.startswith("profile") for each in broadcasts.asked) == 20


async def test_a_broadcast_that_was_listed_is_not_announced_again(open_notifier: OpenNotifier) -> None:
    broadcasts, notifier, (one, two, three) = open_notifier()
    await subscribe(broadcasts)
    broadcasts.append(BroadcastEntryKind.PUBLISH, N1)
    notifier.answered(one.device, "default", 1, has_list=True)
    notifier.answered(two.device, "default", 1, has_list=False)
    broadcasts.say()
    await until(lambda: two.added == three.added == [N1])
    await quiet(notifier)
    assert one.frames == []


async def test_a_lost_message_is_replaced_by_the_next_answer_to_any_device(
    open_notifier: OpenNotifier,
) -> None:
    broadcasts, notifier, (one, two, three) = open_notifier()
    await subscribe(broadcasts)
    await quiet(notifier)
    broadcasts.append(BroadcastEntryKind.PUBLISH, N1)
    notifier.answered(one.device, "default", 1, has_list=True)
    await until(lambda: two.added == three.added == [N1])
    assert one.frames == []


async def test_broadcasts_missed_without_a_channel_are_announced_when_it_is_confirmed(
    open_notifier: OpenNotifier,
) -> None:
    broadcasts, _, phones = open_notifier()
    broadcasts.append(BroadcastEntryKind.PUBLISH, N1)
    await subscribe(broadcasts)
    await until(lambda: all(phone.added == [N1] for phone in phones))
    assert broadcasts.hear
    broadcasts.hear(SubscriptionLost("away"))
    broadcasts.append(BroadcastEntryKind.PUBLISH, N2)
    broadcasts.append(BroadcastEntryKind.REDACT, N1)
    await subscribe(broadcasts, was_lost=True)
    await until(lambda: all(phone.added == [N1, N2] and phone.gone == [N1] for phone in phones))


async def test_a_new_watcher_is_not_notified_of_old_broadcasts(open_notifier: OpenNotifier) -> None:
    broadcasts, notifier, phones = open_notifier(0)
    for name in (N1, N2):
        broadcasts.append(BroadcastEntryKind.PUBLISH, name)
    phone = Phone("anna")
    notifier.enter(phone.device, "default")
    await subscribe(broadcasts)
    await quiet(notifier)
    assert broadcasts.asked == ["log"]
    notifier.answered(phone.device, "default", 2, has_list=True)
    broadcasts.append(BroadcastEntryKind.PUBLISH, N3)
    broadcasts.say()
    await until(lambda: phone.added)
    assert (phone.added, phones) == ([N3], [])


async def test_a_broadcast_redacted_before_a_users_slot_is_not_sent_to_them(
    open_notifier: OpenNotifier,
) -> None:
    """The message of the redaction is lost: the push reads the log itself."""
    broadcasts, notifier, phones = open_notifier(300, spread_s=3.0)
    await subscribe(broadcasts)
    broadcasts.append(BroadcastEntryKind.PUBLISH, N1)
    broadcasts.say()
    await until(lambda: notifier.pushes > 0)
    broadcasts.append(BroadcastEntryKind.REDACT, N1)
    await quiet(notifier)
    notified = [phone for phone in phones if phone.added]
    assert 0 < len(notified) < 200


async def test_a_redaction_ends_the_push_at_once_and_is_announced(open_notifier: OpenNotifier) -> None:
    broadcasts, notifier, phones = open_notifier(100, spread_s=1.0)
    await subscribe(broadcasts)
    broadcasts.append(BroadcastEntryKind.PUBLISH, N1)
    broadcasts.say()
    await until(lambda: notifier.pushes > 0)
    broadcasts.append(BroadcastEntryKind.REDACT, N1)
    broadcasts.say()
    await until(lambda: all(phone.gone == [N1] for phone in phones))
    assert all(phone.frames[-1].get("removed") for phone in phones)
    assert 0 < sum(bool(phone.added) for phone in phones) < 100


async def test_amended_content_is_announced(open_notifier: OpenNotifier) -> None:
    broadcasts, notifier, phones = open_notifier()
    await subscribe(broadcasts)
    broadcasts.append(BroadcastEntryKind.PUBLISH, N1)
    broadcasts.say()
    await until(lambda: all(phone.added for phone in phones))
    broadcasts.words[N1] = "corrected"
    broadcasts.say(N1)
    await until(lambda: all(len(phone.frames) == 2 for phone in phones))
    assert phones[0].frames[1]["amended"][0]["message"] == {"title": "corrected"}
    broadcasts.say("never heard of")
    await quiet(notifier)


async def test_a_failed_read_of_the_log_is_retried(
    open_notifier: OpenNotifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broadcast_notifier, "_RETRY_S", 0.01)
    broadcasts, _, phones = open_notifier()
    await subscribe(broadcasts)
    broadcasts.append(BroadcastEntryKind.PUBLISH, N1)
    broadcasts.faults = 2
    broadcasts.say()
    await until(lambda: all(phone.added == [N1] for phone in phones))


async def test_after_many_changes_devices_are_asked_to_list_again(open_notifier: OpenNotifier) -> None:
    broadcasts, notifier, phones = open_notifier()
    await subscribe(broadcasts)
    for _ in range(broadcast_notifier.MAX_CONCURRENT_PUSHES + 1):
        broadcasts.append(BroadcastEntryKind.PUBLISH, new_ulid())
    broadcasts.say()
    await until(lambda: all(phone.frames for phone in phones))
    await quiet(notifier)
    assert [frame.get("has_more") for frame in phones[0].frames] == [True]
    assert phones[0].frames[0]["up_to"] == broadcast_notifier.MAX_CONCURRENT_PUSHES + 1


async def test_an_inbox_without_watchers_is_not_subscribed(open_notifier: OpenNotifier) -> None:
    broadcasts, notifier, phones = open_notifier(2, spread_s=60)
    await subscribe(broadcasts)
    broadcasts.append(BroadcastEntryKind.PUBLISH, N1)
    broadcasts.say()
    await until(lambda: any(each.pushes for each in notifier._channels.values()))
    for phone in phones:
        notifier.leave(phone.device, "default")
    assert broadcasts.is_closed
    assert len(notifier) == 0
    await asyncio.sleep(0)
    broadcasts.say()
    await until(lambda: not notifier._reads)
    await until(lambda: len(asyncio.all_tasks()) == 1)
