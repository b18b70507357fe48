"""Checks of the decision, for any implementation of it: the real one must pass them, each mutant must fail one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tidings.kernel.ids import ChatId
from tidings.push.model import (
    MessageState,
    PushAction,
    PushDecision,
    PushPolicy,
    PushPreferences,
    QuietHours,
    ShownAlert,
    SkipReason,
)

NOW = 1_790_000_000_000
POLICY = PushPolicy(max_age_s=3_600, collapse_window_s=10)
PREFERENCES = PushPreferences()
MESSAGE = MessageState(chat=ChatId("c"), sequence=7, sent_ms=NOW - 1_000, is_mentioned=False)
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia")

quickly = settings(max_examples=150, deadline=None, database=None, phases=[Phase.generate])


@dataclass(frozen=True)
class Rules:
    """The functions under test."""

    decide: Callable[..., PushDecision]
    is_quiet: Callable[[QuietHours, str, int], bool]
    keep_newest: Callable[..., list[PushDecision]]


SKIPPED: list[tuple[SkipReason, dict[str, Any], PushPreferences]] = [
    (SkipReason.ACCOUNT_SUSPENDED, {"is_suspended": True}, PREFERENCES),
    (SkipReason.LEFT_CHAT, {"is_member": False}, PREFERENCES),
    (SkipReason.REDACTED, {"is_redacted": True}, PREFERENCES),
    (SkipReason.READ, {"read_up_to": 7, "read_ms": NOW - 2_000}, PREFERENCES),
    (SkipReason.DELIVERED, {"delivered_up_to": 7}, PREFERENCES),
    (SkipReason.TOO_OLD, {"sent_ms": NOW - 3_600_001}, PREFERENCES),
    (SkipReason.MUTED, {"muted_until_ms": NOW + 1, "is_mentioned": True}, PREFERENCES),
    (SkipReason.NOTIFY_NONE, {"notify": "none", "is_mentioned": True}, PREFERENCES),
    (SkipReason.NOTIFY_NONE, {"is_mentioned": True}, PushPreferences(notify="none")),
    (SkipReason.NOT_MENTIONED, {"notify": "mentions"}, PREFERENCES),
    (SkipReason.NOT_MENTIONED, {}, PushPreferences(notify="mentions")),
]
SENT: list[tuple[dict[str, Any], PushPreferences]] = [
    ({}, PREFERENCES),
    ({"read_up_to": 6, "delivered_up_to": 6}, PREFERENCES),
    ({"sent_ms": NOW - 3_600_000}, PREFERENCES),
    ({"muted_until_ms": NOW}, PREFERENCES),
    ({"notify": "mentions", "is_mentioned": True}, PREFERENCES),
    ({"notify": "all"}, PushPreferences(notify="none")),
]


def check_reasons(rules: Rules) -> None:
    for reason, changes, preferences in SKIPPED:
        decision = rules.decide(replace(MESSAGE, **changes), preferences, None, POLICY, NOW)
        assert (decision.action, decision.reason) == (PushAction.NONE, reason)
        assert decision.detail.endswith(".")
    for changes, preferences in SENT:
        decision = rules.decide(replace(MESSAGE, **changes), preferences, None, POLICY, NOW)
        assert decision == PushDecision(PushAction.ALERT)


def check_older_than_shown(rules: Rules) -> None:
    shown = ShownAlert(sequence=8, alerted_sequence=8, alerted_ms=NOW - 60_000)
    assert rules.decide(MESSAGE, PREFERENCES, shown, POLICY, NOW).reason is SkipReason.NEWER_MESSAGE


def check_window(rules: Rules) -> None:
    """Alerts of a chat are at least a window apart, and a message that is decided again gets the same decision."""

    @quickly
    @given(st.lists(st.integers(0, 15_000), min_size=1, max_size=12))
    def run(gaps: list[int]) -> None:
        at, shown, alerts = NOW, None, []
        for sequence, gap in enumerate(gaps, 1):
            at += gap
            message = replace(MESSAGE, sequence=sequence, sent_ms=at)
            first = rules.decide(message, PREFERENCES, shown, POLICY, at)
            assert first.action is not PushAction.NONE
            is_alert = first.action is PushAction.ALERT
            if is_alert:
                alerts.append(at)
            shown = ShownAlert(
                sequence=sequence,
                alerted_sequence=sequence if is_alert or shown is None else shown.alerted_sequence,
                alerted_ms=at if is_alert or shown is None else shown.alerted_ms,
            )
            for later_ms in (1, 10_000, 60_000):
                assert rules.decide(message, PREFERENCES, shown, POLICY, at + later_ms) == first
        assert all(later - earlier >= 10_000 for earlier, later in pairwise(alerts))
        assert alerts[0] == NOW + gaps[0]
        expected = [alerts[0]]
        at = NOW
        for gap in gaps:
            at += gap
            if at - expected[-1] >= 10_000:
                expected.append(at)
        assert alerts == expected

    run()


def quiet_minutes(hours: QuietHours) -> set[tuple[int, int]]:
    """Return the weekdays and minutes of quiet hours, by walking from each start to its end."""
    found = set()
    for day in hours.days:
        minute, at = hours.start, day
        while minute != hours.end:
            found.add((at, minute))
            minute += 1
            if minute == 24 * 60:
                minute, at = 0, (at + 1) % 7
    return found


def check_quiet_hours(rules: Rules) -> None:
    day_minute = st.integers(0, 24 * 60 - 1)
    days = st.sets(st.integers(0, 6)).map(lambda found: tuple(sorted(found)))
    hours = st.builds(QuietHours, start=day_minute, end=day_minute, days=days)

    @quickly
    @given(hours, st.sampled_from(ZONES), st.integers(NOW - 10**10, NOW + 3 * 10**10))
    def run(quiet: QuietHours, zone: str, at_ms: int) -> None:
        local = datetime.fromtimestamp(at_ms / 1000, UTC).astimezone(ZoneInfo(zone))
        expected = (local.weekday(), local.hour * 60 + local.minute) in quiet_minutes(quiet)
        assert rules.is_quiet(quiet, zone, at_ms) is expected

    run()


def check_every_minute_of_a_week(rules: Rules) -> None:
    for hours in (
        QuietHours(start=60, end=120, days=(0, 3)),
        QuietHours(start=23 * 60, end=30, days=(4,)),
        QuietHours(start=600, end=600),
    ):
        expected = quiet_minutes(hours)
        for minute in range(7 * 24 * 60):
            at = datetime(2026, 11, 16, tzinfo=UTC) + timedelta(minutes=minute)  # a Monday
            is_quiet = rules.is_quiet(hours, "UTC", int(at.timestamp() * 1000))
            assert is_quiet is (divmod(minute, 24 * 60) in expected)


def check_clock_changes(rules: Rules) -> None:
    """In Berlin, 22:00 to 07:00 lasts 8 hours when clocks are set forward, and 10 when they are set back."""
    night = QuietHours(start=22 * 60, end=7 * 60)
    for day, expected in (("2026-03-28", 8), ("2026-10-24", 10), ("2026-07-01", 9)):
        noon = datetime.fromisoformat(f"{day}T12:00").replace(tzinfo=ZoneInfo("Europe/Berlin"))
        assert sum(_quiet_each_minute(rules, night, noon)) == expected * 60


def _quiet_each_minute(rules: Rules, hours: QuietHours, noon: datetime) -> Iterator[bool]:
    at = noon.astimezone(UTC)
    for _ in range(24 * 60):
        yield rules.is_quiet(hours, "Europe/Berlin", int(at.timestamp() * 1000))
        at += timedelta(minutes=1)


def check_quiet_hours_apply(rules: Rules) -> None:
    local = datetime.fromtimestamp(NOW / 1000, ZoneInfo("Asia/Kathmandu"))
    minute = local.hour * 60 + local.minute
    for start, end, is_sent in ((minute, minute + 1, False), (minute + 1, minute + 2, True)):
        quiet = PushPreferences(time_zone="Asia/Kathmandu", quiet_hours=QuietHours(start=start, end=end))
        decision = rules.decide(replace(MESSAGE, is_mentioned=True), quiet, None, POLICY, NOW)
        assert (decision.reason is None) is is_sent
        assert is_sent or decision.reason is SkipReason.QUIET_HOURS


def check_keep_newest(rules: Rules) -> None:
    alert, update = PushDecision(PushAction.ALERT), PushDecision(PushAction.UPDATE)
    muted = PushDecision(PushAction.NONE, SkipReason.MUTED, "The recipient muted the chat.")
    kept = rules.keep_newest([(1, alert), (3, update), (2, muted), (4, muted)], None)
    assert [each.action for each in kept] == ["none", "alert", "none", "none"]
    assert [each.reason for each in kept] == ["newer_message", None, "muted", "muted"]
    assert rules.keep_newest([(1, update), (2, update)], None)[1] == update
    assert rules.keep_newest([(1, muted), (2, alert)], None) == [muted, alert]
    shown = ShownAlert(sequence=1, alerted_sequence=1, alerted_ms=NOW)
    assert rules.keep_newest([(1, alert), (2, update)], shown)[1] == update, "the event of 1 is repeated"
    assert rules.keep_newest([(1, alert), (2, alert)], shown)[1] == alert
    assert rules.keep_newest([(1, alert)], shown) == [alert]


CHECKS = (
    check_reasons,
    check_older_than_shown,
    check_window,
    check_quiet_hours,
    check_every_minute_of_a_week,
    check_clock_changes,
    check_quiet_hours_apply,
    check_keep_newest,
)
