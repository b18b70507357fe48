"""A user is shown as offline after the grace period."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.ephemeral.model import (
    Presence,
    PresenceRecord,
    PresenceStatus,
)
from tidings.ephemeral.presence import (
    ARRIVED,
    WatchedPresence,
    has_changed,
    next_presence,
)

GRACE_S = 10.0
ONLINE, AWAY, OFFLINE = (
    Presence(status) for status in (PresenceStatus.ONLINE, PresenceStatus.AWAY, PresenceStatus.OFFLINE)
)
SEEN = Presence(PresenceStatus.OFFLINE, 1_000)


@pytest.mark.parametrize(
    ("before", "found", "now", "after"),
    [
        # first read
        (WatchedPresence(), PresenceRecord(AWAY), 100.0, WatchedPresence(AWAY)),
        (WatchedPresence(), PresenceRecord(OFFLINE), 100.0, WatchedPresence(OFFLINE)),
        (WatchedPresence(), PresenceRecord(SEEN, 10_000), 100.0, WatchedPresence(SEEN)),
        (WatchedPresence(), PresenceRecord(SEEN, 4_000), 100.0, WatchedPresence(ONLINE, 96.0)),
        # the user is connected
        (WatchedPresence(ONLINE), PresenceRecord(AWAY), 100.0, WatchedPresence(AWAY)),
        (WatchedPresence(ONLINE, 95.0), PresenceRecord(ONLINE), 100.0, WatchedPresence(ONLINE)),
        (WatchedPresence(SEEN), PresenceRecord(ONLINE), 100.0, WatchedPresence(ONLINE)),
        # the user is not connected
        (WatchedPresence(AWAY), PresenceRecord(SEEN, 50_000), 100.0, WatchedPresence(AWAY, 100.0)),
        (WatchedPresence(AWAY, 90.1), PresenceRecord(SEEN, 50_000), 100.0, WatchedPresence(AWAY, 90.1)),
        (WatchedPresence(AWAY, 90.0), PresenceRecord(SEEN, 10_000), 100.0, WatchedPresence(SEEN)),
        (WatchedPresence(ONLINE, 90.0), PresenceRecord(OFFLINE), 100.0, WatchedPresence(OFFLINE)),
        (WatchedPresence(SEEN), PresenceRecord(SEEN, 99_000), 100.0, WatchedPresence(SEEN)),
    ],
)
def test_shown_presence_after_a_read(
    before: WatchedPresence, found: PresenceRecord, now: float, after: WatchedPresence
) -> None:
    assert next_presence(before, found, now, GRACE_S) == after


records = st.one_of(
    st.sampled_from([PresenceRecord(ONLINE), PresenceRecord(AWAY), PresenceRecord(OFFLINE)]),
    st.integers(0, 20_000).map(lambda disconnected_ms: PresenceRecord(SEEN, disconnected_ms)),
)


@given(st.lists(st.tuples(st.floats(0, 6), st.one_of(records, st.just(ARRIVED))), min_size=1, max_size=20))
def test_a_user_is_not_shown_as_offline_within_the_grace_period(
    steps: list[tuple[float, PresenceRecord | WatchedPresence]],
) -> None:
    now, watched = 0.0, WatchedPresence()
    connected_at = None
    for passed_s, step in steps:
        now += passed_s
        before = watched
        watched = step if isinstance(step, WatchedPresence) else next_presence(watched, step, now, GRACE_S)
        is_connected = isinstance(step, WatchedPresence) or step.presence.status is not PresenceStatus.OFFLINE
        connected_at = now if is_connected else connected_at
        if (
            watched.shown is not None
            and watched.shown.status is PresenceStatus.OFFLINE
            and has_changed(before, watched)
        ):
            assert connected_at is None or now - connected_at >= GRACE_S or before.shown is None
