"""Entries determine the members of a chat, its head, and the message of a text."""

from pathlib import Path

import pytest

from tidings_harness.history.events import EntryCategory, EventKind
from tidings_harness.history.loader import load_history
from tidings_harness.history.recorder import Recorder
from tidings_harness.workload.run_state import RunState, entry_text
from tidings_wire.frames.history import Entry


@pytest.fixture
def ledger(tmp_path: Path) -> RunState:
    return RunState(Recorder(tmp_path, 1))


def entry(sequence: int, kind: str = "message", text: str = "", users: tuple[str, ...] = ()) -> Entry:
    return Entry(sequence=sequence, by="anna", at=0, kind=kind, text=text, users=users)


def test_a_message_is_identified_by_its_text(ledger: RunState) -> None:
    number = ledger.recorder.new_message()
    assert ledger.entry("us", entry(2, text=entry_text(number, 60))) == (2, number, EntryCategory.MESSAGE)


def test_a_foreign_text_has_no_known_sender(ledger: RunState) -> None:
    foreign = ledger.entry("us", entry(2, text="hello")).message
    assert foreign >> 40 > 60_000


def test_other_entries_are_identified_by_their_fields(ledger: RunState) -> None:
    one, same, other = (
        ledger.entry("us", entry(3, "join", users=users)).message
        for users in (("ben", "cleo"), ("cleo", "ben"), ("ben",))
    )
    assert one == same != other


def test_members_must_have_the_head_and_removed_members_their_leave(ledger: RunState) -> None:
    ledger.entry("us", entry(1, "create", users=("anna", "ben")))
    ledger.entry("us", entry(5, "leave", users=("ben",)))
    ledger.committed("us", 9)
    assert ledger.must_hold("us", "anna") == 9
    assert ledger.must_hold("us", "ben") == 5
    assert ledger.must_hold("us", "stranger") == 0


def test_a_late_entry_does_not_undo_later_ones(ledger: RunState) -> None:
    ledger.entry("us", entry(5, "leave", users=("ben",)))
    ledger.entry("us", entry(1, "create", users=("anna", "ben")))
    assert ledger.must_hold("us", "ben") == 5


def test_a_membership_is_recorded_once_for_any_number_of_devices(ledger: RunState, tmp_path: Path) -> None:
    for _ in range(3):
        ledger.entry("us", entry(1, "create", users=("anna", "ben")))
    ledger.recorder.flush()
    assert len(load_history(tmp_path).of(EventKind.IN)) == 2
