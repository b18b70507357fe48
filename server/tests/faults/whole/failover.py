"""Fail over to another region: the lost region keeps running and can no longer write, and the standby takes over.

The standby has a replica of each table that lags by its own time, and its own empty Kafka and Redis.
"""

import asyncio
import json
import re
import shlex
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

import httpx
from fixtures.engines import Dynamo
from fixtures.gateway_process import SocketDevice
from fixtures.installation_processes import SHORT_SESSION, InstallationProcess, InstallationProcesses
from fixtures.tables import REGION, Tables
from websockets.exceptions import WebSocketException

from faults.proxy import Deny, DynamoProxy
from faults.whole.fault import Fault, FaultRun
from faults.whole.installation import WHOLE, FaultInstallation, passed
from faults.whole.recovery import Stopwatch
from faults.whole.replication import REPLICATED, Replication
from tidings.engines import dynoxide
from tidings.engines.jars import default_cache
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import Engine, StartRequest
from tidings.schema.tables import diff
from tidings.schema.tables.apply import apply_tables
from tidings.schema.tables.control_plane import TableControlPlane, connect_control_plane, unsupported_aspects
from tidings_harness.history.events import EventKind, Outcome
from tidings_harness.workload.run_state import entry_text
from tidings_harness.workload.scenario import Scenario

_PAGE: Final = (Path(__file__).parents[4] / "docs/howto/fail-over-to-another-region.md").read_text()
_UNNOTICED: Final = 20
"""Entries that users send after the last complete copy and before the lost region can no longer write."""
_IN_FLIGHT_S: Final = 2.0
"""How long writes may be in flight when the policy takes effect."""
_STALE_TRIES: Final = 3
_COMMAND_TIMEOUT_S: Final = 180.0
_TRY_TIMEOUT_S: Final = 10.0


class LostRegion(NamedTuple):
    """The processes of the region that was cut off, and the addresses that clients may still have."""

    processes: list[InstallationProcess]
    api: str
    socket_port: int


async def inflict(run: FaultRun) -> None:
    await failover(run)


async def failover_without_fence(run: FaultRun, _: Mapping[str, str]) -> None:
    await failover(run, is_fenced=False)


async def failover(run: FaultRun, *, is_fenced: bool = True) -> None:
    """Cut off the region of the installation, and continue in another one. Leaves the installation there."""
    installation, load = run.installation, run.load
    await load.hush()  # so that a small machine has the CPU to start a second set of engines
    standby = await _prepare_standby(installation)
    load.talk()
    here = installation.processes
    node = here.fleet.find(Engine.DYNAMO).node
    with DynamoProxy(here.tables.url, record=False) as dynamo:
        await installation.renew(*WHOLE, DYNAMO_ENDPOINT=dynamo.url)
        target = standby.tables.url.removeprefix("http://")
        async with Replication(dynoxide.database(node), target, here.tables.prefix) as replication:
            await replication.until_copied()
            await load.sent_more(40)
            load.step("the region is cut off, and only a part of its last writes is replicated")
            watch = Stopwatch.start(load)
            await replication.cut()
            load.copied(replication.log_copied_ns)
            await load.sent_more(_UNNOTICED)
            await replication.copy_some()
            policy = dynamo.fault(Deny(_denied_actions())) if is_fenced else None
            await passed(_IN_FLIGHT_S)
            watch.fenced()
            writes = replication.writes()
            lost = _give_up(installation)
            await _take_over(run, standby, watch)
            load.step("the standby has taken over")
            tries = [await _try_lost_region(run, here, lost) for _ in range(_STALE_TRIES)]
            await load.sent_more(40)
            for _ in run.rounds():
                await load.sent_more(20)
            tries.append(await _try_lost_region(run, here, lost))
            assert watch.lost.gaps > 0, "the log of the standby has no gap"
            run.figures["gaps"] = watch.lost.gaps
            run.recoveries.append(await watch.result())
            if policy is not None:
                assert policy.hits > 0, "no write was denied"
                assert replication.writes() == writes, "the lost region has written after the policy"
                run.figures["denied_writes"] = policy.hits
            run.figures["tries_in_lost_region"] = sum(tries)
            for process in lost.processes:
                process.popen.kill()


async def _prepare_standby(installation: FaultInstallation) -> InstallationProcesses:
    """Start the standby's engines, with the tables that have a replica. They end with the installation."""
    here = installation.processes
    directory = here.directory / f"standby-{len(here.started)}"
    shutil.copytree(here.directory / ".tidings", directory / ".tidings")  # the key is a multi-Region key
    fleet = LocalCluster(directory / "engines", default_cache(), dies_with_us=True)
    starter = ThreadPoolExecutor(1)  # an engine ends together with the thread that started it
    installation.until_end.callback(starter.shutdown)
    installation.until_end.callback(fleet.stop)
    request = StartRequest(dynamo="dynoxide", kafka_behind_proxy=True, kafka_extra=SHORT_SESSION)
    await asyncio.get_running_loop().run_in_executor(starter, fleet.start, request)
    at = {each.node.engine: each.node.address for each in fleet.status()}
    standby = replace(
        here,
        tables=Tables(Dynamo("dynoxide", f"http://{at[Engine.DYNAMO]}"), here.tables.prefix),
        redis_url=f"redis://{at[Engine.VALKEY]}",
        kafka=at[Engine.KAFKA],
        directory=directory,
        fleet=fleet,
        started=[],
    )
    installation.until_end.callback(standby.stop)
    await asyncio.to_thread(_create_replicas, standby.tables)
    return standby


def _create_replicas(tables: Tables) -> None:
    client = connect_control_plane(tables.url, REGION)
    plane = TableControlPlane(client, tables.prefix, unsupported_aspects(client, REGION))
    wanted = diff.apply_capacity_mode(REPLICATED, on_demand=True)
    plan = diff.plan_tables(wanted, {}, prefix=tables.prefix, not_known=plane.not_known)
    apply_tables(plane, plan, lambda _: None)


def _give_up(installation: FaultInstallation) -> LostRegion:
    """Take the processes out of the installation. They keep running."""
    processes = [process for kind in installation.running.values() for process in kind]
    port = installation.running["gateway"][0].socket_port
    installation.running.clear()
    return LostRegion(processes, installation.site.api, port)


async def _take_over(run: FaultRun, standby: InstallationProcesses, watch: Stopwatch) -> None:
    """Run the commands of the runbook in the standby region, start its processes, and send all devices there."""
    installation = run.installation
    at = datetime.now(UTC).isoformat(timespec="seconds")
    output = ""
    for words in _runbook_commands(at):
        wait = ["--wait-s=1"] if run.is_short and words[0] == "restore" else []
        output = await asyncio.to_thread(standby.command, *words, *wait, timeout_s=_COMMAND_TIMEOUT_S)
    assert "ok: epoch" in output
    await watch.compare(standby)
    installation.processes = standby
    await installation.start(*WHOLE)
    installation.disconnect_all()
    for device in run.load.light_devices():
        device.cut()


def _runbook_commands(at: str) -> list[list[str]]:
    """Return the commands of the page's step that takes over."""
    step = _PAGE.partition("## 3. Take over")[2].partition("\n## ")[0]
    found = [
        shlex.split(line.replace("$CUT", at))[1:] for line in step.splitlines() if line.startswith("tidings ")
    ]
    assert found, "the page has no commands"
    assert found[-1][:2] == ["restore", "finish"]
    return found


def _denied_actions() -> frozenset[str]:
    """Return the actions that the page's policy denies."""
    policy = re.search(r"```json\n(.*?)```", _PAGE, re.DOTALL)
    assert policy, "the page has no policy"
    (statement,) = json.loads(policy[1])["Statement"]
    assert statement["Effect"] == "Deny"
    return frozenset(action.removeprefix("dynamodb:") for action in statement["Action"])


async def _try_lost_region(run: FaultRun, processes: InstallationProcesses, lost: LostRegion) -> int:
    """Send as clients that still use the lost region, by REST and socket. Return the number of sends.

    They are part of the history: the checker reports an acknowledgement, because the message is in no log that users see.
    """
    load, tries = run.load, 0
    for group in load.groups:
        speaker = group.speakers[0]
        for send in (_send_by_rest, _send_by_socket):
            recorder = load.ledger.recorder
            number, chat = recorder.new_message(), recorder.name(group.chat)
            fields = {"device": speaker.number, "chat": chat, "message": number}
            recorder.begin(EventKind.SEND, **fields)
            body = {"text": entry_text(number, 60), "key": f"stale-{number:x}"}
            sequence = await send(processes, lost, speaker.user, group.chat, body)
            outcome = Outcome.OK if sequence else Outcome.UNKNOWN
            recorder.end(EventKind.SENT, outcome, **fields, sequence=sequence)
            tries += 1
    return tries


async def _send_by_rest(
    processes: InstallationProcesses, lost: LostRegion, user: str, chat: str, body: Mapping[str, str]
) -> int:
    """Return the sequence that was acknowledged, or 0."""
    headers = {"Authorization": f"Bearer {processes.token(user)}", "Idempotency-Key": body["key"]}
    url = f"{lost.api}/v1/chats/{chat}/messages"
    try:
        async with httpx.AsyncClient(trust_env=False, timeout=_TRY_TIMEOUT_S) as client:
            answer = await client.post(url, headers=headers, json={"text": body["text"]})
    except httpx.HTTPError:
        return 0
    return int(answer.json()["sequence"]) if answer.is_success else 0


async def _send_by_socket(
    processes: InstallationProcesses, lost: LostRegion, user: str, chat: str, body: Mapping[str, str]
) -> int:
    """Return the sequence that was acknowledged, or 0."""
    try:
        async with asyncio.timeout(_TRY_TIMEOUT_S):
            device = await SocketDevice.open(lost.socket_port)
            try:
                await device.connect(processes.token(user), device="stale")
                answer = await device.ask("send", chat=chat, client_message_id=body["key"], text=body["text"])
            finally:
                await device.close()
    except (OSError, TimeoutError, WebSocketException):
        return 0
    return int(answer.get("sequence", 0))


FAULT = Fault(
    name="failover",
    invariant="The standby has every entry that was acknowledged before the last copy of the log began; the lost region acknowledges nothing after the policy.",
    fault="a replica lags by another time for each table; its region takes over while the processes of the other one keep running without the permission to write",
    inflict=inflict,
    scenario=Scenario(groups=2, members=30, devices=2, large_chat_members=104, rate=4),
    full_scenario=Scenario(groups=3, members=90, devices=2, large_chat_members=180, rate=5),
)
