"""Texts on the screen: cleaned, shortened, with correct days and numbers."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tidings_sdk import DeliveryStatus, Entry, MessageStatus, PresenceChanged, SendRestrictions, State
from tidings_terminal import formatting
from tidings_terminal.rendering import fit_text

DAY_MS = 24 * 3600 * 1000
NOON = 1_763_208_000_000  # 15 November 2025, 12:00 UTC


@given(st.text(), st.integers(0, 40))
def test_any_text_fits_and_has_no_control_characters(text: str, width: int) -> None:
    shown = fit_text(formatting.one_line(text), width)
    assert cell_len(shown) == width
    assert not [c for c in shown if ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or c in "\u202a\u202e\u2066\u2069"]


def test_emoji_and_scripts_that_need_joiners_keep_them() -> None:
    family, persian = "\U0001f469\u200d\U0001f467", "\u0645\u06cc\u200c\u062e"
    assert formatting.strip_controls(family) == family
    assert formatting.strip_controls(persian) == persian


@pytest.mark.parametrize(
    ("at", "text"),
    [(NOON - 3600_000, "11:00"), (NOON - DAY_MS, "14 Nov"), (NOON - 400 * DAY_MS, "11 Oct 2024")],
)
def test_today_shows_the_time_and_earlier_days_the_date(at: int, text: str) -> None:
    assert formatting.format_clock(at, NOON, UTC) == text


def test_days_are_in_the_time_zone_of_the_user() -> None:
    midnight = NOON + 12 * 3600_000
    assert formatting.format_day(midnight, UTC) == "Sunday 16 November 2025"
    assert formatting.format_day(midnight, timezone(timedelta(hours=-1))) == "Saturday 15 November 2025"


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (MessageStatus(has_receipts=False), "✓"),
        (MessageStatus(DeliveryStatus.SENT), "✓"),
        (MessageStatus(DeliveryStatus.SENT, ("ben",)), "✓ reached ben"),
        (MessageStatus(DeliveryStatus.DELIVERED, ("ben", "cleo")), "✓✓"),
        (MessageStatus(DeliveryStatus.DELIVERED, ("ben", "cleo"), ("ben",)), "✓✓ read by ben"),
        (MessageStatus(DeliveryStatus.READ, ("ben",), ("ben",)), "✓✓ read"),
    ],
)
def test_delivery_marks_differ_by_more_than_a_colour(status: MessageStatus, text: str) -> None:
    assert formatting.delivery_mark(status) == text


def test_typing_text_names_the_users() -> None:
    assert formatting.typing_text(()) == ""
    assert formatting.typing_text(("ben",)) == "ben is typing …"
    assert formatting.typing_text(("ben", "cleo")) == "ben and cleo are typing …"
    assert formatting.typing_text(("a", "b", "c")) == "3 people are typing …"


def test_the_connection_counts_down() -> None:
    assert formatting.connection_text(State.CLOSED, 2.6) == "○ no connection, next try in 3 s"
    assert formatting.connection_text(State.CLOSED, -0.2) == "○ no connection, next try in 0 s"
    assert len({formatting.connection_text(state, None) for state in State}) == len(State) - 1


def test_presence_and_last_seen() -> None:
    assert formatting.presence_text(None, NOON) == ""
    assert formatting.presence_text(PresenceChanged("ben", "away"), NOON) == "◐ away"
    assert (
        formatting.presence_text(PresenceChanged("ben", "offline", NOON - 60_000), NOON)
        == "○ last seen 11:59"
    )
    assert formatting.presence_text(PresenceChanged("ben", "offline"), NOON) == "○ offline"


@pytest.mark.parametrize(
    ("kind", "users", "text"),
    [
        ("join", ("ben",), "ben joined"),
        ("join", ("cleo", "dora"), "ben added cleo, dora"),
        ("join", ("a", "b", "c", "d"), "ben added a, b and 2 more"),
        ("leave", (), "ben left"),
        ("leave", ("cleo",), "ben removed cleo"),
        ("lost", (), "a message or change was lost in an outage"),
        ("weather", (), ""),
    ],
)
def test_event_text(kind: str, users: tuple[str, ...], text: str) -> None:
    assert formatting.event_text(Entry(sequence=1, by="ben", at=1, kind=kind, users=users)) == text


def test_restrictions_say_why_the_user_cannot_write() -> None:
    now = datetime(2026, 11, 15, 12, tzinfo=UTC)
    soon = now + timedelta(seconds=20)

    def text(**given: object) -> str | None:
        return formatting.restriction_text(SendRestrictions(**given), now)  # type: ignore[arg-type]

    assert text() is None
    assert text(is_frozen=True) == "this group is frozen"
    assert text(slow_mode_s=30, may_send_at=soon) == "slow mode: wait 20 s"
    assert text(slow_mode_s=30, may_send_at=now) is None
    assert text(is_muted=True) == "you are muted in this group"
    assert text(is_muted=True, muted_until=soon) == f"you are muted until {soon.astimezone():%d %b %H:%M}"
    assert text(is_muted=True, muted_until=now) is None
    assert formatting.refusal_text("muted") == "you are muted in this group"
    assert formatting.refusal_text("content_invalid") == "content_invalid"
