"""Pushes of a broadcast are spread evenly: each user has a moment of his own, by his hash. In a time of its own."""

from collections import Counter
from typing import Any, cast

import pytest

from tidings.gateway import broadcast_announcements as crowd_of
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
"""Pushes in a tenth of a second, if they were spread as evenly as can be."""


class Time(SystemClock):
    """Passes when somebody sleeps. `slow_s`: so long each sleep takes longer than asked."""

    def __init__(self, slow_s: float = 0.0) -> None:
        self.at = 100.0
        self.slow_s = slow_s

    def monotonic(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.at += seconds + self.slow_s


def filled(count: int = DEVICES) -> InboxWatchers:
    crowd = InboxWatchers()
    for number in range(count):
        key = DeviceKey(ACME, UserId(f"user{number}"), DeviceId("phone"))
        crowd.enter(ConnectedDevice(key, cast("Any", None)))
    return crowd


async def walked(
    crowd: InboxWatchers, time: Time, notification: str = "n1", spread_s: float = SPREAD_S
) -> dict[str, float]:
    """When each user was told, after the beginning."""
    told: dict[str, float] = {}

    async def give(seats: list[ConnectedDevice]) -> bool:
        for seat in seats:
            assert seat.user not in told
            told[seat.user] = time.at - 100.0
        return True

    await push_spread(crowd, Announcement(notification, give), spread_s, time, time.sleep)
    return told


def most_in_a_tenth(told: dict[str, float]) -> int:
    return max(Counter(round(at * 10) for at in told.values()).values())


async def test_everybody_is_told_once_and_no_tenth_of_a_second_has_much_more_than_its_share() -> None:
    told = await walked(filled(), Time())
    assert len(told) == DEVICES
    assert most_in_a_tenth(told) < 1.6 * EVEN
    assert 0 <= min(told.values()) < 0.2
    assert SPREAD_S - 0.3 < max(told.values()) < SPREAD_S


async def test_who_is_late_makes_up_for_it_at_twice_the_pace_at_most() -> None:
    time = Time()
    crowd, stalled = filled(), False
    told: list[float] = []

    async def give(seats: list[ConnectedDevice]) -> bool:
        nonlocal stalled
        if time.at > 103 and not stalled:
            stalled, time.at = True, time.at + 4
        told.extend([time.at] * len(seats))
        return True

    await push_spread(crowd, Announcement("n1", give), SPREAD_S, time, time.sleep)
    assert len(told) == DEVICES
    assert max(Counter(round(at * 10) for at in told).values()) < 2 * 1.6 * EVEN
    assert max(told) < 100 + SPREAD_S + 1


async def test_a_user_has_another_moment_for_another_broadcast_and_the_same_for_what_follows_on_it() -> None:
    crowd = filled(200)
    first, again, other = [await walked(crowd, Time(), name) for name in ("n1", "n1", "n2")]
    assert first == again
    assert sum(abs(first[user] - other[user]) > 1 for user in first) > 100


async def test_a_walk_that_has_nothing_more_to_tell_ends() -> None:
    time, given = Time(), list[int]()

    async def give(seats: list[ConnectedDevice]) -> bool:
        given.append(len(seats))
        return time.at < 105

    await push_spread(filled(), Announcement("n1", give), SPREAD_S, time, time.sleep)
    assert time.at == pytest.approx(105, abs=0.2)
    assert sum(given) == pytest.approx(DEVICES / 2, rel=0.1)


async def test_without_a_spread_all_are_told_at_once() -> None:
    time = Time()
    assert set((await walked(filled(50), time, spread_s=0)).values()) == {0.0}
    assert time.at == 100.0


async def test_who_leaves_is_not_told_and_leaves_nothing_behind() -> None:
    crowd = filled(100)
    for seat in list(crowd.announced)[:60]:
        crowd.leave(seat)
        crowd.leave(seat)
    assert len(await walked(crowd, Time())) == 40
    for seat in list(crowd.announced):
        crowd.leave(seat)
    assert not crowd
    assert crowd._by_slot == {}


async def test_the_bound_catches_a_walk_that_tells_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant: everybody has the same moment."""
    monkeypatch.setattr(crowd_of, "spread_slot", lambda _: 0)
    assert most_in_a_tenth(await walked(filled(), Time())) > 1.6 * EVEN


def test_moments_do_not_follow_the_parts_of_ramps() -> None:
    """Of the users of a tenth of the parts, every tenth of the moments has some."""
    from tidings.inboxes.broadcasts.model import PARTS, rollout_bucket  # noqa: PLC0415 - used here alone
    from tidings.kernel.ids import stable_hash  # noqa: PLC0415 - used here alone

    users = [UserId(f"user{number}") for number in range(5_000)]
    first = [user for user in users if rollout_bucket(stable_hash(user), stable_hash("n1")) < PARTS // 10]
    tenths = Counter(spread_slot(user) * 10 // SLOTS for user in first)
    assert len(first) == pytest.approx(500, rel=0.3)
    assert set(tenths) == set(range(10))


def test_what_a_list_had_is_known_and_a_count_alone_only_at_first() -> None:
    crowd = filled(2)
    one, two = crowd.announced
    assert crowd.least_announced() is None
    crowd.answered(one, 5, has_list=False)
    crowd.answered(one, 9, has_list=False)
    crowd.answered(two, 7, has_list=True)
    assert (crowd.announced[one], crowd.announced[two], crowd.least_announced()) == (5, 7, 5)
    crowd.answered(one, 9, has_list=True)
    crowd.answered(two, 6, has_list=True)
    assert (crowd.announced[one], crowd.announced[two]) == (9, 7)
