"""Receipts merge forward only, in any order; and nobody is shown as gone before the hold-down is over."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.ephemeral.model import (
    MemberReceipt,
    Presence,
    PresenceRecord,
    PresenceStatus,
    ReceiptsEvent,
    TypingEvent,
    decode_event,
    encode_event,
)
from tidings.ephemeral.rules import (
    ARRIVED,
    WatchedPresence,
    apply_updates,
    has_changed,
    merge,
    newest,
    next_presence,
)
from tidings.kernel.ids import UserId

ANNA, BEN = UserId("anna"), UserId("ben")
HOLD_S = 10.0
ONLINE, AWAY, OFFLINE = (
    Presence(status) for status in (PresenceStatus.ONLINE, PresenceStatus.AWAY, PresenceStatus.OFFLINE)
)
SEEN = Presence(PresenceStatus.OFFLINE, 1_000)

marks = st.integers(0, 9)
gots = st.builds(MemberReceipt, st.sampled_from([ANNA, BEN]), marks, marks, marks)


@given(st.lists(gots, max_size=5))
def test_receipts_come_out_the_same_in_any_order(some: list[MemberReceipt]) -> None:
    ends = []
    for order in permutations(some):
        known: dict[UserId, MemberReceipt] = {}
        merge(known, order)
        ends.append(known)
    assert all(end == ends[0] for end in ends)
    for got in some:
        known_one = ends[0][got.user]
        assert known_one == newest(known_one, got), "nothing goes back"


def test_what_is_heard_while_a_state_is_read_raises_it_and_adds_nobody() -> None:
    heard = {ANNA: MemberReceipt(ANNA, 5, 3), UserId("gone"): MemberReceipt(UserId("gone"), 9, 9)}
    assert apply_updates([MemberReceipt(ANNA, 4, 4, 1), MemberReceipt(BEN, 2, 0, 1)], heard) == (
        MemberReceipt(ANNA, 5, 4, 1),
        MemberReceipt(BEN, 2, 0, 1),
    )


@pytest.mark.parametrize(
    "sign", [ReceiptsEvent((MemberReceipt(ANNA, 4, 2),)), TypingEvent(BEN, is_typing=False)]
)
def test_a_sign_comes_out_as_it_went_in(sign: ReceiptsEvent | TypingEvent) -> None:
    assert decode_event(encode_event(sign)) == sign


@pytest.mark.parametrize(
    ("before", "found", "now", "after"),
    [
        # the first look
        (WatchedPresence(), PresenceRecord(AWAY), 100.0, WatchedPresence(AWAY)),
        (WatchedPresence(), PresenceRecord(OFFLINE), 100.0, WatchedPresence(OFFLINE)),
        (WatchedPresence(), PresenceRecord(SEEN, 10_000), 100.0, WatchedPresence(SEEN)),
        (WatchedPresence(), PresenceRecord(SEEN, 4_000), 100.0, WatchedPresence(ONLINE, 96.0)),
        # he is there
        (WatchedPresence(ONLINE), PresenceRecord(AWAY), 100.0, WatchedPresence(AWAY)),
        (WatchedPresence(ONLINE, 95.0), PresenceRecord(ONLINE), 100.0, WatchedPresence(ONLINE)),
        (WatchedPresence(SEEN), PresenceRecord(ONLINE), 100.0, WatchedPresence(ONLINE)),
        # he is not
        (WatchedPresence(AWAY), PresenceRecord(SEEN, 50_000), 100.0, WatchedPresence(AWAY, 100.0)),
        (WatchedPresence(AWAY, 90.1), PresenceRecord(SEEN, 50_000), 100.0, WatchedPresence(AWAY, 90.1)),
        (WatchedPresence(AWAY, 90.0), PresenceRecord(SEEN, 10_000), 100.0, WatchedPresence(SEEN)),
        (WatchedPresence(ONLINE, 90.0), PresenceRecord(OFFLINE), 100.0, WatchedPresence(OFFLINE)),
        (WatchedPresence(SEEN), PresenceRecord(SEEN, 99_000), 100.0, WatchedPresence(SEEN)),
    ],
)
def test_what_is_shown_after_a_look(
    before: WatchedPresence, found: PresenceRecord, now: float, after: WatchedPresence
) -> None:
    assert next_presence(before, found, now, HOLD_S) == after


founds = st.one_of(
    st.sampled_from([PresenceRecord(ONLINE), PresenceRecord(AWAY), PresenceRecord(OFFLINE)]),
    st.integers(0, 20_000).map(lambda gone_ms: PresenceRecord(SEEN, gone_ms)),
)


@given(st.lists(st.tuples(st.floats(0, 6), st.one_of(founds, st.just(ARRIVED))), min_size=1, max_size=20))
def test_nobody_is_shown_as_gone_who_was_there_within_the_hold(
    steps: list[tuple[float, PresenceRecord | WatchedPresence]],
) -> None:
    now, watched = 0.0, WatchedPresence()
    there_at = None
    for passed_s, step in steps:
        now += passed_s
        before = watched
        watched = step if isinstance(step, WatchedPresence) else next_presence(watched, step, now, HOLD_S)
        is_there = isinstance(step, WatchedPresence) or step.presence.status is not PresenceStatus.OFFLINE
        there_at = now if is_there else there_at
        if (
            watched.shown is not None
            and watched.shown.status is PresenceStatus.OFFLINE
            and has_changed(before, watched)
        ):
            assert there_at is None or now - there_at >= HOLD_S or before.shown is None
