"""Which devices are notified of an inbox, in which order, and that unwatched inboxes are not read."""

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from fixtures.loops import until

from tidings.bus.model import InboxChanged
from tidings.gateway import inbox_notifier
from tidings.gateway.broadcast_notifier import BroadcastNotifier
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.inbox_notifier import MAX_INBOXES, InboxNotifier
from tidings.gateway.ports import InboxUseCases
from tidings.inboxes.config import Inbox
from tidings.inboxes.model import (
    InboxId,
    InboxKey,
    InboxSnapshot,
    NotificationContent,
    NotificationId,
    NotificationRow,
    UnreadCounts,
)
from tidings.inboxes.queries import NotificationSlice, VisibleNotification
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import DeviceId, DeviceKey, TenantId, UserId

ACME, ANNA = TenantId("acme"), UserId("anna")
N1, N2 = (NotificationId(f"01JCQ4Z7N3V5X9B2M8K6T1R0W{letter}") for letter in "DE")


class FakeInboxes:
    """An inbox whose reads return increasing versions. `hold`: reads wait for it. `faults`: number of reads that fail."""

    def __init__(self) -> None:
        self.version = 0
        self.reads: list[list[NotificationId]] = []
        self.hold = asyncio.Event()
        self.hold.set()
        self.faults = 0
        self.existing = {N1, N2}

    async def of(self, _: TenantId, inbox: str, /) -> Inbox:
        return Inbox(id=InboxId(inbox), title="News")

    async def some(self, owner: InboxKey, ids: Sequence[NotificationId]) -> NotificationSlice:
        self.reads.append(list(ids))
        self.version += 1
        version = self.version
        await self.hold.wait()
        if self.faults:
            self.faults -= 1
            raise TidingsError(Code.OVERLOADED, "not now")
        counts = UnreadCounts(total=version, version=version)
        sheet = InboxSnapshot(owner=owner, stored=counts, counts=counts, now_ms=version, retain_from_ms=0)
        return NotificationSlice([_notification(each) for each in ids if each in self.existing], None, sheet)


def _notification(name: NotificationId) -> VisibleNotification:
    row = NotificationRow(id=name, category=0, delivered_ms=1)
    content = NotificationContent(
        id=name, inbox=InboxId("default"), category=0, version=1, sealed=b"", created_ms=0, job="", count=1
    )
    return VisibleNotification(row, content, {"title": name}, is_read=False, is_seen=False, read_ms=None)


class Line:
    def __init__(self) -> None:
        self.frames: list[dict[str, Any]] = []

    def push(self, frame: bytes) -> None:
        self.frames.append(msgspec.json.decode(frame)["inbox"])


def device(device: str, user: UserId = ANNA) -> tuple[ConnectedDevice, Line]:
    line = Line()
    return ConnectedDevice(DeviceKey(ACME, user, DeviceId(device)), cast("Any", line)), line


def notifier(inboxes: FakeInboxes) -> InboxNotifier:
    nothing = cast("Any", SimpleNamespace())
    cases = InboxUseCases(
        cast("Any", inboxes), cast("Any", inboxes), nothing, nothing, nothing, preferences=nothing
    )
    broadcasts = BroadcastNotifier(cases, None, report, clock=SystemClock(), spread_s=1)
    return InboxNotifier(cases, broadcasts, report)


def report(what: str, error: BaseException) -> None:
    pytest.fail(f"{what}: {error!r}")


def word(*added: str, gone: tuple[str, ...] = (), user: str = "anna", inbox: str = "default") -> InboxChanged:
    return InboxChanged(ACME, UserId(user), inbox, added=added, removed=gone)


async def test_only_watching_devices_are_notified() -> None:
    inboxes = FakeInboxes()
    at = notifier(inboxes)
    (phone, to_phone), (laptop, to_laptop), (idle, to_idle) = map(device, ("phone", "laptop", "idle"))
    at.watch(phone, "default")
    at.watch(laptop, "default")
    at.watch(idle, "other")
    at.on_inbox_changed(word(N1))
    await until(lambda: to_phone.frames and to_laptop.frames)
    assert [each["id"] for each in to_phone.frames[0]["added"]] == [N1]
    assert to_phone.frames == to_laptop.frames
    assert to_idle.frames == []


async def test_an_unwatched_inbox_is_not_read() -> None:
    inboxes = FakeInboxes()
    at = notifier(inboxes)
    phone, _ = device("phone")
    at.watch(phone, "default")
    at.on_left(phone)
    at.on_inbox_changed(word(N1))
    at.on_inbox_changed(word(N1, user="ben"))
    await at.wait_idle(1)
    assert inboxes.reads == []
    assert not at._watchers


async def test_changes_during_a_read_are_sent_together_afterwards_and_in_order() -> None:
    inboxes = FakeInboxes()
    at = notifier(inboxes)
    phone, pushed = device("phone")
    at.watch(phone, "default")
    inboxes.hold.clear()
    at.on_inbox_changed(word(N1))
    await until(lambda: inboxes.reads)
    for each in (word(N2), word(), word(gone=(N1,))):
        at.on_inbox_changed(each)
    await asyncio.sleep(0)
    assert len(inboxes.reads) == 1
    inboxes.hold.set()
    await until(lambda: len(pushed.frames) == 2)
    assert [frame["counts"]["version"] for frame in pushed.frames] == [1, 2]
    assert (pushed.frames[1]["removed"], [each["id"] for each in pushed.frames[1]["added"]]) == ([N1], [N2])
    assert inboxes.reads == [[N1], [N2]]


async def test_a_notification_that_was_removed_before_the_read_is_not_sent() -> None:
    inboxes = FakeInboxes()
    inboxes.existing = set()
    at = notifier(inboxes)
    phone, pushed = device("phone")
    at.watch(phone, "default")
    at.on_inbox_changed(word(N1))
    await until(lambda: pushed.frames)
    assert "added" not in pushed.frames[0]


async def test_a_notification_added_and_removed_in_between_is_sent_as_removed() -> None:
    inboxes = FakeInboxes()
    at = notifier(inboxes)
    phone, pushed = device("phone")
    at.watch(phone, "default")
    at.on_inbox_changed(word(N1))
    at.on_inbox_changed(word(gone=(N1,)))
    await until(lambda: pushed.frames)
    assert (pushed.frames[0]["removed"], pushed.frames[0].get("added")) == ([N1], None)


async def test_a_resumed_device_receives_counts_and_has_more() -> None:
    inboxes = FakeInboxes()
    at = notifier(inboxes)
    phone, pushed = device("phone")
    at.on_live(phone)
    at.watch(phone, "default")
    at.on_live(phone)
    await until(lambda: pushed.frames)
    assert pushed.frames[0]["has_more"] is True
    assert inboxes.reads == [[]]


async def test_a_read_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox_notifier, "_RETRY_S", 0.001)
    inboxes = FakeInboxes()
    inboxes.faults = 2
    at = notifier(inboxes)
    phone, pushed = device("phone")
    at.watch(phone, "default")
    at.on_inbox_changed(word(N1))
    await until(lambda: pushed.frames)
    assert [each["id"] for each in pushed.frames[0]["added"]] == [N1]


async def test_the_number_of_watched_inboxes_is_limited() -> None:
    at = notifier(FakeInboxes())
    phone, _ = device("phone")
    for number in range(MAX_INBOXES):
        at.watch(phone, f"inbox-{number}")
    at.watch(phone, "inbox-0")
    with pytest.raises(TidingsError):
        at.watch(phone, "one-more")


async def test_a_disconnected_device_is_not_remembered() -> None:
    """A request that was in flight when its device disconnected reaches the notifier afterwards."""
    at = notifier(FakeInboxes())
    phone, _ = device("phone")
    phone.is_gone = True
    at.watch(phone, "default")
    assert (at._watchers, at._inboxes) == ({}, {})
