"""Bad weather between us and each engine: throttling, conflicts, lost answers, latency, cuts, a frozen broker."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from fixtures.city import ProcessKind

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
from faults.whole.fault import Doing, Fault
from faults.whole.stand import passed
from tidings.engines.model import Engine

_DYNAMO: tuple[tuple[DynamoFault, float], ...] = (
    (Throttle(), 0.1),
    (Conflict(), 0.1),
    (InternalError(applied=True), 0.05),
    (DropAnswer(), 0.05),
    (DropRequest(), 0.05),
    (Delay(before_s=0.2), 0.1),
)
_KINDS: tuple[ProcessKind, ...] = ("gateway", "gateway", "delivery")


@contextmanager
def _all_at_once(dynamo: DynamoProxy, turn: int) -> Iterator[None]:
    with ExitStack() as stack:
        for number, (fault, share) in enumerate(_DYNAMO):
            stack.enter_context(dynamo.fault(fault, dose=Chance(share, seed=turn * 10 + number)))
        yield


async def inflict(doing: Doing) -> None:
    """Who is to be tried gets proxies for engines, and afterwards the engines again."""
    stand, city = doing.stand, doing.stand.city
    host, _, port = city.redis_url.removeprefix("redis://").partition(":")
    with DynamoProxy(city.tables.url, record=False) as dynamo, TcpProxy(host, int(port)) as redis:
        await stand.renew(*_KINDS, DYNAMO_ENDPOINT=dynamo.url, REDIS_URL=f"redis://127.0.0.1:{redis.port}")
        for turn in doing.times(1, 10):
            await _dynamo(doing, dynamo, turn)
            await _redis(doing, redis)
            await _kafka(doing)
        await stand.renew(*_KINDS)


async def _dynamo(doing: Doing, dynamo: DynamoProxy, turn: int) -> None:
    doing.load.step("DynamoDB throttles, conflicts, fails, is slow, loses requests and answers")
    with _all_at_once(dynamo, turn):
        await doing.load.sent_more(60, 60)


async def _redis(doing: Doing, redis: TcpProxy) -> None:
    doing.load.step("Redis is slow, then cut")
    with redis.fault(Latency(0.3)):
        await doing.load.sent_more(20, 60)
    for _ in range(3):
        await asyncio.to_thread(redis.cut, reset=True)
        await doing.load.sent_more(10, 60)


async def _kafka(doing: Doing) -> None:
    fleet = doing.stand.city.fleet
    (broker,) = [each.node.name for each in fleet.status() if each.node.engine is Engine.KAFKA]
    doing.load.step("Kafka stands still")
    fleet.freeze(broker)
    await passed(6 if doing.is_short else 40)
    fleet.thaw(broker)
    await doing.load.sent_more(10, 60)


FAULT = Fault(
    name="bad weather",
    invariant="A timeout is not an answer: no retry makes a second message, and no failure loses one.",
    fault="DynamoDB throttling, conflicts, 500s, lost requests and answers, delays; Redis slow and cut; Kafka frozen",
    inflict=inflict,
    heals_within_s=120.0,
)
