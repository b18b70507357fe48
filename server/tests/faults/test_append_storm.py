"""The append in a storm, on both engines: dense, nobody's message twice, nothing acknowledged missing.

The short form; `python -m faults.storm.run` is the long one, whose report is in docs/.
"""

import asyncio
from pathlib import Path

import pytest
from fixtures.engines import NOT_RUN
from fixtures.tables import Tables

from faults.storm.checker import gather, violations
from faults.storm.history import SendOutcome
from faults.storm.mutants import MUTANTS
from faults.storm.run import Plan, Report, Storm, storm
from tidings.engines import dynoxide
from tidings.engines.jars import default_cache
from tidings.kernel.ids import ClientKey, UserId
from tidings.messages.model import Entry, EntryKind

SENDS = 960


def blow(plan: Plan, tables: Tables, home: Path) -> Report:
    return asyncio.run(Storm(plan, None, tables.url, tables.prefix, home).run())


def test_a_storm_breaks_nothing(tables: Tables, tmp_path: Path) -> None:
    report = blow(Plan(sends=SENDS), tables, tmp_path)
    print(report)
    assert report.breaches == []
    assert report.acked + report.refused == SENDS
    assert report.acked > SENDS / 2
    assert report.kills > 0
    assert report.removals > 0
    assert all(hits > 0 for hits in report.faults.values()), "a fault that never struck proves nothing"


def test_a_storm_with_kill_9_of_the_engine_breaks_nothing() -> None:
    if not dynoxide.is_installed(default_cache()):
        pytest.skip(NOT_RUN)
    report = storm(Plan(sends=SENDS, engine_kills=2, kills=1, removals=1), "dynoxide", on_disk=True)
    print(report)
    assert report.breaches == []
    assert report.engine_kills == 2


CAUGHT_BY = {
    "puts_without_condition": "and stands at",
    "forgets_keys": "and again at",
    "trusts_standings_for_ever": "who is not a member there",
}


def test_every_mutant_has_the_breach_that_it_must_show() -> None:
    assert CAUGHT_BY.keys() == MUTANTS.keys()


@pytest.mark.parametrize("mutant", sorted(MUTANTS))
def test_a_server_that_breaks_a_rule_is_caught(tables_dynoxide: Tables, tmp_path: Path, mutant: str) -> None:
    """More trouble than usual, so that a short storm meets the rule."""
    plan = Plan(sends=SENDS, mutant=mutant, chance=0.03, kills=8, removals=12)
    report = blow(plan, tables_dynoxide, tmp_path)
    assert any(CAUGHT_BY[mutant] in breach for breach in report.breaches), report


def entry(sequence: int, key: str, kind: EntryKind = EntryKind.MESSAGE, **more: object) -> Entry:
    return Entry(
        sequence=sequence,
        ordinal=sequence - 1,
        kind=kind,
        sender=UserId(key.partition("-")[0]),
        client_key=ClientKey(key),
        fingerprint=b"",
        created_at_ms=0,
        **more,  # type: ignore[arg-type]
    )


CREATE = entry(1, "anna-create", EntryKind.CREATE, users=(UserId("u0"), UserId("u1")))
GOOD = [CREATE, entry(2, "u0-0"), entry(3, "u1-0")]
TOLD = [
    SendOutcome("u0", 0, 1),
    SendOutcome("u0", 0, 1, 2),
    SendOutcome("u1", 0, None),
    SendOutcome("u1", 0, None, 3),
]


def test_the_checker_finds_nothing_where_nothing_is_wrong() -> None:
    assert list(violations(GOOD, gather(TOLD))) == []


@pytest.mark.parametrize(
    ("entries", "told", "word"),
    [
        ([CREATE, entry(3, "u0-0")], TOLD, "not dense"),
        ([*GOOD, entry(4, "u0-0")], TOLD, "again at 4"),
        (GOOD[:2], TOLD, "stands at None"),
        (GOOD, [*TOLD, SendOutcome("u0", 0, 1, 3)], "was acknowledged at"),
        (GOOD, [*TOLD, SendOutcome("u0", 0, 1, "not_a_member")], "was refused"),
        (GOOD, [*TOLD, SendOutcome("u0", 1, 1)], "never had an answer"),
        ([*GOOD, entry(4, "u2-0")], [*TOLD, SendOutcome("u2", 0, 1, 4)], "not a member"),
        ([*GOOD, entry(4, "u1-9")], TOLD, "nobody ever sent"),
        ([*GOOD[:2], entry(3, "u1-0", kind=EntryKind.RENAME)], TOLD, "ordinal"),
        (GOOD, [*TOLD, SendOutcome("u0", 2, 1, "position_ahead")], "without reason"),
    ],
)
def test_the_checker_finds_each_wrong(entries: list[Entry], told: list[SendOutcome], word: str) -> None:
    assert any(word in breach for breach in violations(entries, gather(told)))
