"""Pushes of a broadcast are spread evenly: the slot of a user comes from a hash. With a simulated clock."""

from collections import Counter
from typing import Any, cast

import pytest

from tidings.gateway import broadcast_announcements as announcements
from tidings.gateway.broadcast_announcements import (
    SLOTS,
    Announcement,
    InboxWatchers,
    push_spread,
    spread_slot,
)
from tidings.gateway.connected_device import ConnectedDevice
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import DeviceId, DeviceKey, TenantId, UserId

ACME = TenantId("acme")
DEVICES, SPREAD_S = 5_000, 10.0
EVEN = DEVICES / SPREAD_S / 10
"""Pushes per tenth of a second if they are spread evenly."""


class Time(SystemClock):
    """Advances with each sleep. `slow_s`: how much longer than requested each sleep takes."""

    def __init__(self, slow_s: float = 0.0) -> None:
        self.at = 100.0
        self.slow_s = slow_s

    def monotonic(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.at += seconds + self.slow_s


def filled(count: int = DEVICES) -> InboxWatchers:
    watchers = InboxWatchers()
    for number in range(count):
        key = DeviceKey(ACME, UserId(f"user{number}"), DeviceId("phone"))
        watchers.enter(ConnectedDevice(key, cast("Any", None)))
    return watchers


async def push_all(
    watchers: InboxWatchers, time: Time, notification: str = "n1", spread_s: float = SPREAD_S
) -> dict[str, float]:
    """Return when each user received the push, in seconds after the start."""
    pushed_at: dict[str, float] = {}

    async def push(devices: list[ConnectedDevice]) -> bool:
        for device in devices:
            assert device.user not in pushed_at
            pushed_at[device.user] = time.at - 100.0
        return True

    await push_spread(watchers, Announcement(notification, push), spread_s, time, time.sleep)
    return pushed_at


def most_in_a_tenth(pushed_at: dict[str, float]) -> int:
    return max(Counter(round(at * 10) for at in pushed_at.values()).values())


async def test_every_device_is_pushed_once_and_the_pushes_are_spread_evenly() -> None:
    pushed_at = await push_all(filled(), Time())
    assert len(pushed_at) == DEVICES
    assert most_in_a_tenth(pushed_at) < 1.6 * EVEN
    assert 0 <= min(pushed_at.values()) < 0.2
    assert SPREAD_S - 0.3 < max(pushed_at.values()) < SPREAD_S


async def test_a_late_push_catches_up_at_twice_the_pace_at_most() -> None:
    time = Time()
    watchers, stalled = filled(), False
    pushed_at: list[float] = []

    async def push(devices: list[ConnectedDevice]) -> bool:
        nonlocal stalled
        if time.at > 103 and not stalled:
            stalled, time.at = True, time.at + 4
        pushed_at.extend([time.at] * len(devices))
        return True

    await push_spread(watchers, Announcement("n1", push), SPREAD_S, time, time.sleep)
    assert len(pushed_at) == DEVICES
    assert max(Counter(round(at * 10) for at in pushed_at).values()) < 2 * 1.6 * EVEN
    assert max(pushed_at) < 100 + SPREAD_S + 1


async def test_a_user_has_another_slot_for_each_broadcast_and_the_same_for_its_updates() -> None:
    watchers = filled(200)
    first, again, other = [await push_all(watchers, Time(), name) for name in ("n1", "n1", "n2")]
    assert first == again
    assert sum(abs(first[user] - other[user]) > 1 for user in first) > 100


async def test_a_push_ends_when_the_broadcast_needs_no_push() -> None:
    time, given = Time(), list[int]()

    async def push(devices: list[ConnectedDevice]) -> bool:
        given.append(len(devices))
        return time.at < 105

    await push_spread(filled(), Announcement("n1", push), SPREAD_S, time, time.sleep)
    assert time.at == pytest.approx(105, abs=0.2)
    assert sum(given) == pytest.approx(DEVICES / 2, rel=0.1)


async def test_without_a_spread_all_devices_are_pushed_at_once() -> None:
    time = Time()
    assert set((await push_all(filled(50), time, spread_s=0)).values()) == {0.0}
    assert time.at == 100.0


async def test_a_device_that_left_is_not_pushed_and_leaves_no_entry() -> None:
    watchers = filled(100)
    for device in list(watchers.announced)[:60]:
        watchers.leave(device)
        watchers.leave(device)
    assert len(await push_all(watchers, Time())) == 40
    for device in list(watchers.announced):
        watchers.leave(device)
    assert not watchers
    assert watchers._by_slot == {}


async def test_the_bound_catches_a_push_to_all_devices_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant: all users have the same slot."""
    monkeypatch.setattr(announcements, "spread_slot", lambda _: 0)
    assert most_in_a_tenth(await push_all(filled(), Time())) > 1.6 * EVEN


def test_slots_do_not_depend_on_rollout_buckets() -> None:
    """The users in a tenth of the rollout buckets use every tenth of the slots."""
    from tidings.inboxes.broadcasts.model import PARTS, rollout_bucket  # noqa: PLC0415 - used here alone
    from tidings.kernel.ids import stable_hash  # noqa: PLC0415 - used here alone

    users = [UserId(f"user{number}") for number in range(5_000)]
    first = [user for user in users if rollout_bucket(stable_hash(user), stable_hash("n1")) < PARTS // 10]
    tenths = Counter(spread_slot(user) * 10 // SLOTS for user in first)
    assert len(first) == pytest.approx(500, rel=0.3)
    assert set(tenths) == set(range(10))


def test_lists_are_noted_and_counts_only_at_first() -> None:
    watchers = filled(2)
    one, two = watchers.announced
    assert watchers.least_announced() is None
    watchers.answered(one, 5, has_list=False)
    watchers.answered(one, 9, has_list=False)
    watchers.answered(two, 7, has_list=True)
    assert (watchers.announced[one], watchers.announced[two], watchers.least_announced()) == (5, 7, 5)
    watchers.answered(one, 9, has_list=True)
    watchers.answered(two, 6, has_list=True)
    assert (watchers.announced[one], watchers.announced[two]) == (9, 7)
