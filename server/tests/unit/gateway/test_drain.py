"""When each device leaves: evenly, within the spread."""

import random

import pytest

from tidings.gateway.server import spread_delays_ms


@pytest.mark.parametrize("count", [0, 1, 7, 10_000])
def test_every_device_has_a_moment_within_the_spread(count: int) -> None:
    moments = spread_delays_ms(count, 10.0, random.Random(1).random)
    assert len(moments) == count
    assert all(0 <= moment <= 10_000 for moment in moments)


def test_no_second_gets_more_than_its_share() -> None:
    moments = spread_delays_ms(5_000, 10.0, random.Random(2).random)
    per_second = [sum(s * 1_000 <= moment < (s + 1) * 1_000 for moment in moments) for s in range(10)]
    assert all(495 <= count <= 505 for count in per_second), per_second
