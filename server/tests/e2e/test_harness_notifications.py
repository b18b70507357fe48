"""The harness on inboxes: real processes are killed, Redis is emptied, two edges append concurrently, and every list
that was read is checked against the operations. Then servers that break a rule, each of which must be detected.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fixtures.installation_processes import Balancer, InstallationProcess, InstallationProcesses

from tidings.accounts.api_keys import ApiKeyService
from tidings.accounts.model import Scope
from tidings.accounts.store.keys import DynamoApiKeyStore
from tidings.kernel.clock import SystemClock
from tidings_harness.notifications.checker import InboxRule, InboxVerdict, check_inboxes
from tidings_harness.notifications.history import load_journal as load_history
from tidings_harness.notifications.report import as_page
from tidings_harness.notifications.workload import NotificationLoad, NotificationRun
from tidings_harness.workload.target import TargetInstallation, signer

pytestmark = pytest.mark.deadline(900.0)
LONG_S = 120.0


@asynccontextmanager
async def run_on(
    installation: InstallationProcesses,
    balancer: Balancer,
    apis: list[InstallationProcess],
    directory: Path,
    *,
    users: int = 8,
    readers: tuple[InstallationProcess, ...] = (),
    expiring: float = 0.2,
    ramping: float = 0.15,
) -> AsyncIterator[NotificationRun]:
    async with installation.use_cases() as use_cases:
        keys = ApiKeyService(DynamoApiKeyStore(use_cases.client, use_cases.authentic), SystemClock())
        issued = await keys.issue(use_cases.tenant, "harness", [Scope.NOTIFICATIONS])
    addresses = [f"http://127.0.0.1:{each.socket_port}" for each in apis]
    socket = f"ws://127.0.0.1:{balancer.port}/v1/socket"
    site = TargetInstallation(
        api=addresses[0],
        sockets=[socket],
        steady_socket=socket,
        token=signer(installation.space.tenant, installation.private),
    )
    wanted = NotificationLoad(
        site=site,
        apis=addresses,
        read_apis=tuple(f"http://127.0.0.1:{each.socket_port}" for each in readers),
        key=issued.text.reveal(),
        users=users,
        expiring=expiring,
        ramping=ramping,
    )
    async with NotificationRun(wanted, directory) as run:
        yield run


def verdict_of(directory: Path) -> InboxVerdict:
    return check_inboxes(load_history(directory))


@pytest.mark.long
async def test_processes_are_killed_and_redis_is_emptied_while_two_edges_append(
    installation: InstallationProcesses, tmp_path: Path
) -> None:
    one, two, api, other, worker = installation.ready(
        "gateway",
        "gateway",
        "api",
        "api",
        "notifications",
        INBOXES_BROADCAST_SPREAD_S="1",
        FAILPOINTS_PAUSE_AT="",
    )
    async with Balancer() as balancer:
        balancer.ports = [one.socket_port, two.socket_port]
        async with run_on(installation, balancer, [api, other], tmp_path) as run:
            await run.sent_more(20, LONG_S)
            run.journal.step("FLUSHALL")
            await asyncio.to_thread(installation.flush_redis)
            await run.sent_more(10, LONG_S)
            run.journal.step("kill -9 a gateway and a worker")
            balancer.ports = [two.socket_port]
            one.popen.kill()
            worker.popen.kill()
            await run.sent_more(10, LONG_S)
            run.journal.step("kill -9 an edge; new ones of each")
            api.popen.kill()
            [third, fresh, _] = await asyncio.to_thread(
                lambda: installation.ready("gateway", "api", "notifications", FAILPOINTS_PAUSE_AT="")
            )
            run.load.apis[0] = f"http://127.0.0.1:{fresh.socket_port}"
            balancer.ports = [two.socket_port, third.socket_port]
            run.journal.step("FLUSHALL")
            await asyncio.to_thread(installation.flush_redis)
            await run.sent_more(20, LONG_S)
            await run.wait_until_idle(LONG_S)
    verdict = verdict_of(tmp_path)
    assert verdict.is_good, as_page(verdict)
    assert min(verdict.acked, verdict.reads, verdict.pushes, verdict.marks) > 20
    assert verdict.redactions > 0


BREAKING = {
    "follows_slowly": InboxRule.THERE,
    "forgets_redactions": InboxRule.COUNTS,
    "ignores_segments": InboxRule.NOTHING_ELSE,
    "keeps_what_expired": InboxRule.EXPIRED,
    "stops_ramps_at_their_first_step": InboxRule.RAMPS,
    "marks_all_but_the_last": InboxRule.MARKS,
    "counts_one_broadcast_more": InboxRule.COUNTS,
}


IN_GATE = {"forgets_redactions"}
"""One mutant of the counts. The others run with `just nightly`."""


@pytest.mark.parametrize(
    "mutant",
    [pytest.param(mutant, marks=() if mutant in IN_GATE else pytest.mark.long) for mutant in BREAKING],
)
async def test_a_server_that_breaks_a_rule_is_caught(
    installation: InstallationProcesses, tmp_path: Path, mutant: str
) -> None:
    """One edge only serves reads, so no append through it refreshes its copy of the broadcast log. The load repeats
    what a mutant breaks often enough that no mutant passes accidentally.
    """
    gateway, api, reader, _ = installation.ready(
        "gateway", "api", "api", "notifications", FAILPOINTS_MUTANT=mutant, FAILPOINTS_PAUSE_AT=""
    )
    async with Balancer() as balancer:
        balancer.ports = [gateway.socket_port]
        async with run_on(
            installation,
            balancer,
            [api],
            tmp_path,
            users=4,
            readers=(reader,),
            expiring=0.5 if "expired" in mutant else 0.1,
            ramping=0.7 if "ramps" in mutant else 0.1,
        ) as run:
            for each in run.readers:
                each.marks_all = 0.3 if "marks" in mutant else 0.0
            await run.sent_more(40, LONG_S)
            await run.wait_until_idle(10)
    assert BREAKING[mutant] in verdict_of(tmp_path).broken
