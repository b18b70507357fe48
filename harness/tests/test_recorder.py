"""Recorded events survive kill -9 up to the last complete record; truncated records are reported."""

import subprocess
import sys
from pathlib import Path

from tidings_harness.history.events import RECORD, EntryCategory, EventKind, Outcome
from tidings_harness.history.loader import load_history
from tidings_harness.history.recorder import Recorder

_KILLED_IN_MID_OPERATION = """
import os, signal, sys
from pathlib import Path
from tidings_harness.history.events import EventKind, Outcome
from tidings_harness.history.recorder import Recorder

recorder = Recorder(Path(sys.argv[1]), 7)
phone, chat = recorder.name("anna/phone"), recorder.name("us")
for number in range(1, 101):
    recorder.begin(EventKind.SEND, device=phone, chat=chat, message=recorder.new_message())
    if number < 100:
        recorder.end(EventKind.SENT, Outcome.OK, device=phone, chat=chat, message=number, sequence=number)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_operation_is_recorded_before_it_is_issued_and_survives_kill_9(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", _KILLED_IN_MID_OPERATION, str(tmp_path)], check=False, timeout=60)
    history = load_history(tmp_path)
    assert len(history.of(EventKind.SEND)) == 100
    assert len(history.of(EventKind.SENT)) == 99
    assert history.torn == ()


def test_a_truncated_record_is_skipped_and_reported(tmp_path: Path) -> None:
    with Recorder(tmp_path, 1) as recorder:
        for number in range(3):
            recorder.quiet(recorder.name(f"device-{number}"))
    path = tmp_path / "0001.events"
    path.write_bytes(path.read_bytes()[:-7])
    history = load_history(tmp_path)
    assert len(history.events) == 2
    assert "33 bytes" in history.torn[0]


def test_trailing_zero_records_are_skipped_and_reported(tmp_path: Path) -> None:
    with Recorder(tmp_path, 1) as recorder:
        recorder.quiet(recorder.name("device"))
    with (tmp_path / "0001.events").open("ab") as file:
        file.write(bytes(2 * RECORD.itemsize))
    history = load_history(tmp_path)
    assert len(history.events) == 1
    assert "2 records" in history.torn[0]


def test_a_name_has_one_number_in_all_files_and_connections_stay_separate(tmp_path: Path) -> None:
    for writer, names in ((1, ("us", "anna/phone")), (2, ("ben/phone", "anna/phone", "us"))):
        with Recorder(tmp_path, writer) as recorder:
            numbers = {name: recorder.name(name) for name in names}
            connection = recorder.new_connection()
            recorder.delivered(
                numbers["anna/phone"],
                numbers["us"],
                connection,
                4,
                99,
                sort=EntryCategory.MESSAGE,
                is_asked=False,
            )
    history = load_history(tmp_path)
    one, other = history.events
    assert history.names[one["device"]] == history.names[other["device"]] == "anna/phone"
    assert history.names[one["chat"]] == history.names[other["chat"]] == "us"
    assert one["connection"] != other["connection"]


def test_all_fields_are_read_back_unchanged(tmp_path: Path) -> None:
    with Recorder(tmp_path, 3) as recorder:
        device, chat = recorder.name("anna/phone"), recorder.name("us")
        message = recorder.new_message()
        recorder.begin(EventKind.SEND, device=device, chat=chat, message=message)
        recorder.end(EventKind.SENT, Outcome.FAILED, device=device, chat=chat, message=message)
        recorder.row(recorder.name("anna"), chat, 5, read=3, unread=2)
    send, sent, row = load_history(tmp_path).events
    assert (send["kind"], send["message"], send["outcome"]) == (EventKind.SEND, 3 << 40 | 1, Outcome.UNKNOWN)
    assert (sent["kind"], sent["outcome"]) == (EventKind.SENT, Outcome.FAILED)
    assert (row["at_ns"], row["sequence"], row["message"]) == (5, 3, 2)
    assert 0 < send["at_ns"] <= sent["at_ns"]
