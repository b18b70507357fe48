"""The upgrade page: its order of steps, and the record of the data format that `tidings tables apply` writes."""

import asyncio
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from failpoints.upgrade_mutants import UPGRADE_MUTANTS
from faults.whole.upgrade import PAGE, RECORD, upgrade_steps
from fixtures.installation_processes import InstallationProcesses

from tidings.installation.store import NEWEST_FORMAT, WRITTEN_FORMAT, Installation, InstallationStore
from tidings.kernel.clock import SystemClock

_TESTS = Path(__file__).parents[1]
_COMMAND = [sys.executable, "-m", "faults.whole.upgrade"]


def test_the_page_applies_tables_before_workers_and_replaces_gateways_last() -> None:
    steps = upgrade_steps(PAGE.read_text())
    commands = [command for step in steps for text in step.commands for command in text.splitlines()]
    assert commands[-1] == "tidings doctor"
    applied = next(n for n, step in enumerate(steps) if "tidings tables apply" in "".join(step.commands))
    replacing = [n for n, step in enumerate(steps) if step.kinds]
    assert replacing == [applied + 1, applied + 2]
    assert steps[replacing[0]].kinds[:3] == ("delivery", "notifications", "relay")
    assert steps[replacing[1]].kinds == ("api", "gateway")


def test_apply_records_the_data_format_and_no_process_serves_a_newer_one(
    installation: InstallationProcesses,
) -> None:
    installation.ready("relay", FAILPOINTS_PAUSE_AT="")
    asyncio.run(_set_format(installation, 0))
    installation.command("tables", "apply")
    assert asyncio.run(_row(installation)).data_format == WRITTEN_FORMAT
    asyncio.run(_set_format(installation, NEWEST_FORMAT + 1))
    refused = installation.run("relay", FAILPOINTS_PAUSE_AT="")
    assert refused.exit_code() == 1
    (line,) = refused.events("component did not start")
    assert line["component"] == "epoch"
    assert f"The stored data has format {NEWEST_FORMAT + 1}" in line["reason"]


async def _row(installation: InstallationProcesses) -> Installation:
    async with installation.use_cases() as use_cases:
        found = await InstallationStore(use_cases.client, SystemClock()).read()
        assert found
        return found


async def _set_format(installation: InstallationProcesses, data_format: int) -> None:
    found = await _row(installation)
    async with installation.use_cases() as use_cases:
        store = InstallationStore(use_cases.client, SystemClock())
        assert await store.change(found, replace(found, data_format=data_format))


@pytest.mark.long
def test_devices_lose_nothing_while_both_versions_run() -> None:
    assert _upgrade() == (0, 0)


@pytest.mark.long
@pytest.mark.parametrize("mutant", UPGRADE_MUTANTS)
def test_a_version_that_cannot_run_next_to_the_old_one_is_caught(mutant: str) -> None:
    status, violations = _upgrade(f"--mutant={mutant}")
    assert status == 1
    assert violations > 0


def _upgrade(*words: str) -> tuple[int, int]:
    """Upgrade from the commit of the record, and return the exit code and the number of violations."""
    old = json.loads(RECORD.read_text())["from"]
    done = subprocess.run(
        [*_COMMAND, old, "HEAD", "--short", *words], cwd=_TESTS, check=False, capture_output=True, text=True
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout.splitlines()[-1])["upgrade_violations"]
