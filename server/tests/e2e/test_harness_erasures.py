"""The harness erases users of groups whose other members continue. For them, every promise holds."""

import asyncio
from pathlib import Path

import pytest
from fixtures.installation_processes import InstallationProcess, InstallationProcesses

from tidings.accounts.api_keys import ApiKeyService
from tidings.accounts.model import Scope
from tidings.accounts.store.keys import DynamoApiKeyStore
from tidings.erasure.model import ErasureStep
from tidings.erasure.store import DynamoErasureStore
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import UserId
from tidings_harness.history.epochs import directories
from tidings_harness.history.events import ERASED_ENTRY, EntryCategory, EventKind, Outcome
from tidings_harness.history.loader import load_history
from tidings_harness.workload.run import HarnessRun
from tidings_harness.workload.scenario import Scenario
from tidings_harness.workload.target import TargetInstallation, signer

SCENARIO = Scenario(groups=2, members=6, devices=1, rate=4, erases=True)
WAITING = {ErasureStep.QUIET, ErasureStep.SETTLED}
AHEAD_S = 400
"""By how much the clock of each worker is ahead of the one before: longer than a step waits."""


async def end_waits(
    installation: InstallationProcesses, run: HarnessRun, worker: InstallationProcess
) -> None:
    """Replace the worker by one whose clock is ahead, whenever all erasures wait."""
    seen, ahead_s = list[ErasureStep](), 0
    async with installation.use_cases() as use_cases:
        store = DynamoErasureStore(use_cases.client)
        while True:
            users = sorted({device.user for group in run.groups for device in group.erased})
            found = [await store.read(use_cases.tenant, UserId(user)) for user in users]
            steps = [each.step for each in found if each is not None]
            if len(steps) == SCENARIO.groups and steps != seen and WAITING.issuperset(steps):
                seen, ahead_s = steps, ahead_s + AHEAD_S
                worker.popen.kill()
                await asyncio.to_thread(worker.exit_code)
                clock = {"FAILPOINTS_CLOCK_OFFSET_S": str(ahead_s)}
                worker, *_ = await asyncio.to_thread(
                    installation.ready, "notifications", FAILPOINTS_PAUSE_AT="", **clock
                )
            await asyncio.sleep(0.2)


@pytest.mark.long
@pytest.mark.deadline(900.0)
async def test_an_erasure_changes_nothing_for_others(
    installation: InstallationProcesses, tmp_path: Path
) -> None:
    async with installation.use_cases() as use_cases:
        keys = ApiKeyService(DynamoApiKeyStore(use_cases.client, use_cases.authentic), SystemClock())
        issued = await keys.issue(use_cases.tenant, "harness", [Scope.USERS])
    gateway, api, _, _, worker = await asyncio.to_thread(
        installation.ready, "gateway", "api", "delivery", "relay", "notifications", FAILPOINTS_PAUSE_AT=""
    )
    socket = f"ws://127.0.0.1:{gateway.socket_port}/v1/socket"
    site = TargetInstallation(
        api=f"http://127.0.0.1:{api.socket_port}",
        sockets=[socket],
        steady_socket=socket,
        token=signer(installation.space.tenant, installation.private),
        api_key=issued.text.reveal(),
    )
    async with HarnessRun(site, SCENARIO, tmp_path) as run:
        ending = asyncio.create_task(end_waits(installation, run, worker))
        await run.erased(within_s=400)
        ending.cancel()
        await run.sent_more(5)
        verdict = await run.finish()
    assert verdict.breaches == ()
    (directory,) = directories(tmp_path)
    history = load_history(directory)
    assert len(history.of(EventKind.ERASED)) == SCENARIO.groups
    assert set(history.of(EventKind.ADMITTED)["outcome"]) == {Outcome.FAILED}
    again = history.of(EventKind.REREAD)
    assert (again["message"] == ERASED_ENTRY).sum() >= 5 * SCENARIO.groups, "their messages are erased"
    shown = history.of(EventKind.GIVEN)
    assert (shown["sort"] == EntryCategory.MESSAGE).sum() > 0
