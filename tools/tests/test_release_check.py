"""Which figures of a release are faults."""

import json
from pathlib import Path
from typing import Any

import pytest

from tools import release_check
from tools.release.provenance import write_checksums
from tools.release_check import DRILLS, check_artefacts, check_upgrade, judge_drills

GOOD = {"from": "a", "to": "b", "upgrade_lost": 0, "upgrade_doubled": 0, "faults": []}


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "upgrade.json"
    monkeypatch.setattr(release_check, "UPGRADE_RECORD", path)
    return path


def test_a_recorded_upgrade_without_a_violation_has_no_fault(record: Path) -> None:
    record.write_text(json.dumps(GOOD))
    found = check_upgrade(is_short=True)
    assert found.figures == {"upgrade_lost": 0, "upgrade_doubled": 0}
    assert found.faults == []


@pytest.mark.parametrize(
    "change", [{"upgrade_lost": 1}, {"upgrade_doubled": 2}, {"faults": ["api exited with 1"]}]
)
def test_each_violation_of_a_recorded_upgrade_is_a_fault(record: Path, change: dict[str, object]) -> None:
    record.write_text(json.dumps(GOOD | change))
    assert len(check_upgrade(is_short=True).faults) == 1


@pytest.mark.usefixtures("record")
def test_an_upgrade_without_a_record_is_a_fault_without_figures() -> None:
    found = check_upgrade(is_short=True)
    assert found.figures == {"upgrade_lost": None, "upgrade_doubled": None}
    assert "just upgrade-test" in found.faults[0]


def test_artefacts_are_required_by_the_long_form_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release_check, "DIST", tmp_path)
    assert check_artefacts(is_short=True).faults == []
    assert check_artefacts(is_short=True).figures == {"artefacts": None}
    assert "nothing is built" in check_artefacts(is_short=False).faults[0]
    (tmp_path / "tidings.whl").write_bytes(b"wheel")
    write_checksums(tmp_path)
    assert "not signed" in check_artefacts(is_short=True).faults[0]


GOOD_DRILL = {"rpo_entries": 12, "rto_s": 41.0, "is_good": True, "is_short": False, "commit": "v0.1.0"}


def test_a_record_without_a_violation_has_the_figures_of_the_failover_and_of_the_longest_recovery() -> None:
    record = dict.fromkeys(DRILLS, GOOD_DRILL) | {"restore": {**GOOD_DRILL, "rpo_entries": 70, "rto_s": 44.5}}
    found = judge_drills(record)
    assert found.faults == []
    assert found.figures == {"drill_rpo_entries": 12, "drill_rto_s": 44.5}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"is_short": True}, "ran in its short form"),
        ({"commit": "v0.1.0-dirty"}, "ran on uncommitted changes"),
        ({"is_good": False}, "found a violation"),
        ({"rto_s": 120.1}, "more than 120 s"),
    ],
)
def test_a_drill_that_failed_or_proves_nothing_is_a_fault(change: dict[str, Any], fault: str) -> None:
    (found,) = judge_drills(dict.fromkeys(DRILLS, GOOD_DRILL) | {"failover": GOOD_DRILL | change}).faults
    assert fault in found


def test_a_missing_record_is_a_fault_and_has_no_figures() -> None:
    found = judge_drills({})
    assert len(found.faults) == len(DRILLS)
    assert found.figures == {"drill_rpo_entries": None, "drill_rto_s": None}
