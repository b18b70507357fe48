"""Faults between Tidings and each engine: throttling, conflicts, lost answers, latency, cuts, a frozen broker."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from fixtures.installation_processes import ProcessKind

from faults.proxy import (
    Chance,
    Conflict,
    Delay,
    DropAnswer,
    DropRequest,
    DynamoProxy,
    InternalError,
    Latency,
    TcpProxy,
    Throttle,
)
from faults.proxy.fault import Fault as DynamoFault
from faults.whole.fault import Fault, FaultRun
from faults.whole.installation import passed
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import Engine, EngineNode

_DYNAMO: tuple[tuple[DynamoFault, float], ...] = (
    (Throttle(), 0.1),
    (Conflict(), 0.1),
    (InternalError(applied=True), 0.05),
    (DropAnswer(), 0.05),
    (DropRequest(), 0.05),
    (Delay(before_s=0.2), 0.1),
)
_KINDS: tuple[ProcessKind, ...] = ("gateway", "gateway", "delivery", "relay")


@contextmanager
def _all_at_once(dynamo: DynamoProxy, turn: int) -> Iterator[None]:
    with ExitStack() as stack:
        for number, (fault, share) in enumerate(_DYNAMO):
            stack.enter_context(dynamo.fault(fault, dose=Chance(share, seed=turn * 10 + number)))
        yield


async def inflict(run: FaultRun) -> None:
    """Connect the processes to the engines through proxies, inject the faults, then connect them directly again."""
    installation, processes = run.installation, run.installation.processes
    with (
        DynamoProxy(processes.tables.url, record=False) as dynamo,
        TcpProxy("127.0.0.1", int(processes.redis_url.rpartition(":")[2])) as redis,
        _proxy_of_kafka(processes.fleet) as kafka,
    ):
        changes = {
            "DYNAMO_ENDPOINT": dynamo.url,
            "REDIS_URL": f"redis://127.0.0.1:{redis.port}",
            "KAFKA_BOOTSTRAP_SERVERS": f"127.0.0.1:{kafka.port}",
        }
        await installation.renew(*_KINDS, **changes)
        for turn in run.rounds():
            await _dynamo(run, dynamo, turn)
            await _slow_and_cut(run, "Redis", redis)
            await _slow_and_cut(run, "Kafka", kafka)
            await _frozen(run)
        await installation.renew(*_KINDS)
        assert min(kafka.accepted, redis.accepted) > 0, "no process connected through the proxies"


def _proxy_of_kafka(fleet: LocalCluster) -> TcpProxy:
    """Return a proxy on the port that the broker advertises, so that clients of the broker connect through it."""
    ports = _broker(fleet).ports
    return TcpProxy("127.0.0.1", ports["proxied"], listen_port=ports["advertised"])


def _broker(fleet: LocalCluster) -> EngineNode:
    (broker,) = [each.node for each in fleet.status() if each.node.engine is Engine.KAFKA]
    return broker


async def _dynamo(run: FaultRun, dynamo: DynamoProxy, turn: int) -> None:
    run.load.step("DynamoDB throttles, conflicts, fails, is slow, loses requests and answers")
    with _all_at_once(dynamo, turn):
        await run.load.sent_more(60)


async def _slow_and_cut(run: FaultRun, name: str, proxy: TcpProxy) -> None:
    run.load.step(f"{name} is slow, then cut")
    with proxy.fault(Latency(0.3)):
        await run.load.sent_more(20)
    for _ in range(3):
        await asyncio.to_thread(proxy.cut, reset=True)
        await run.load.sent_more(10)


async def _frozen(run: FaultRun) -> None:
    fleet = run.installation.processes.fleet
    broker = _broker(fleet).name
    run.load.step("Kafka is frozen")
    fleet.pause(broker)
    await passed(6 if run.is_short else 40)
    fleet.resume(broker)
    await run.load.sent_more(10)


FAULT = Fault(
    name="bad weather",
    invariant="A timeout is not an answer: no retry duplicates a message, and no failure loses one.",
    fault="DynamoDB: throttling, conflicts, 500s, lost requests and answers, delays; Redis and Kafka: slow and disconnected; Kafka stopped with SIGSTOP",
    inflict=inflict,
)
