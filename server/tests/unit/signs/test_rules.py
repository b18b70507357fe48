"""Receipts merge forward only, in any order; and nobody is shown as gone before the hold-down is over."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.kernel.ids import UserId
from tidings.signs.model import Found, Got, Presence, Receipts, Status, Typing, decode, encode
from tidings.signs.rules import ARRIVED, Watched, further, is_news, looked, merge, raised

ANNA, BEN = UserId("anna"), UserId("ben")
HOLD_S = 10.0
ONLINE, AWAY, OFFLINE = (Presence(status) for status in (Status.ONLINE, Status.AWAY, Status.OFFLINE))
SEEN = Presence(Status.OFFLINE, 1_000)

marks = st.integers(0, 9)
gots = st.builds(Got, st.sampled_from([ANNA, BEN]), marks, marks, marks)


@given(st.lists(gots, max_size=5))
def test_receipts_come_out_the_same_in_any_order(some: list[Got]) -> None:
    ends = []
    for order in permutations(some):
        known: dict[UserId, Got] = {}
        merge(known, order)
        ends.append(known)
    assert all(end == ends[0] for end in ends)
    for got in some:
        known_one = ends[0][got.user]
        assert known_one == further(known_one, got), "nothing goes back"


def test_what_is_heard_while_a_state_is_read_raises_it_and_adds_nobody() -> None:
    heard = {ANNA: Got(ANNA, 5, 3), UserId("gone"): Got(UserId("gone"), 9, 9)}
    assert raised([Got(ANNA, 4, 4, 1), Got(BEN, 2, 0, 1)], heard) == (Got(ANNA, 5, 4, 1), Got(BEN, 2, 0, 1))


@pytest.mark.parametrize("sign", [Receipts((Got(ANNA, 4, 2),)), Typing(BEN, is_typing=False)])
def test_a_sign_comes_out_as_it_went_in(sign: Receipts | Typing) -> None:
    assert decode(encode(sign)) == sign


@pytest.mark.parametrize(
    ("before", "found", "now", "after"),
    [
        # the first look
        (Watched(), Found(AWAY), 100.0, Watched(AWAY)),
        (Watched(), Found(OFFLINE), 100.0, Watched(OFFLINE)),
        (Watched(), Found(SEEN, 10_000), 100.0, Watched(SEEN)),
        (Watched(), Found(SEEN, 4_000), 100.0, Watched(ONLINE, 96.0)),
        # he is there
        (Watched(ONLINE), Found(AWAY), 100.0, Watched(AWAY)),
        (Watched(ONLINE, 95.0), Found(ONLINE), 100.0, Watched(ONLINE)),
        (Watched(SEEN), Found(ONLINE), 100.0, Watched(ONLINE)),
        # he is not
        (Watched(AWAY), Found(SEEN, 50_000), 100.0, Watched(AWAY, 100.0)),
        (Watched(AWAY, 90.1), Found(SEEN, 50_000), 100.0, Watched(AWAY, 90.1)),
        (Watched(AWAY, 90.0), Found(SEEN, 10_000), 100.0, Watched(SEEN)),
        (Watched(ONLINE, 90.0), Found(OFFLINE), 100.0, Watched(OFFLINE)),
        (Watched(SEEN), Found(SEEN, 99_000), 100.0, Watched(SEEN)),
    ],
)
def test_what_is_shown_after_a_look(before: Watched, found: Found, now: float, after: Watched) -> None:
    assert looked(before, found, now, HOLD_S) == after


founds = st.one_of(
    st.sampled_from([Found(ONLINE), Found(AWAY), Found(OFFLINE)]),
    st.integers(0, 20_000).map(lambda gone_ms: Found(SEEN, gone_ms)),
)


@given(st.lists(st.tuples(st.floats(0, 6), st.one_of(founds, st.just(ARRIVED))), min_size=1, max_size=20))
def test_nobody_is_shown_as_gone_who_was_there_within_the_hold(
    steps: list[tuple[float, Found | Watched]],
) -> None:
    now, watched = 0.0, Watched()
    there_at = None
    for passed_s, step in steps:
        now += passed_s
        before = watched
        watched = step if isinstance(step, Watched) else looked(watched, step, now, HOLD_S)
        is_there = isinstance(step, Watched) or step.presence.status is not Status.OFFLINE
        there_at = now if is_there else there_at
        if watched.shown is not None and watched.shown.status is Status.OFFLINE and is_news(before, watched):
            assert there_at is None or now - there_at >= HOLD_S or before.shown is None
