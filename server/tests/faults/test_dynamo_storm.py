"""Many calls through many concurrent faults: at the end every result of the client is compared with the table."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest
from fixtures.engines import Dynamo, Namespace

from faults.clients import Table
from faults.dynamo_calls import ABSENT, QUICK, REGION
from faults.proxy import (
    Chance,
    CloseIdle,
    Conflict,
    Delay,
    DropAnswer,
    DropRequest,
    DynamoProxy,
    Garbage,
    HalfAnswer,
    InternalError,
    Spoilt,
    Throttle,
)
from tidings.platform.dynamo import errors
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.connection_pool import PoolLimits
from tidings.platform.dynamo.open_client import open_client
from tidings.platform.dynamo.operations import AccessPattern, Consistency, Operation

APPENDS = 300
AT_ONCE = 12
NAME = "faults"
PUT = AccessPattern("storm put", (NAME,), Operation.PUT_ITEM, Consistency.WRITE, "for tests")

WEATHER = (
    DropRequest(),
    DropAnswer(reset=True),
    HalfAnswer(),
    Garbage(Spoilt.CRC32),
    Garbage(Spoilt.HTTP),
    InternalError(applied=True),
    InternalError(applied=False),
    Throttle(),
    Conflict(),
    CloseIdle(),
    Delay(before_s=0.05),
    Delay(after_s=0.05),
)
# Longer than a try may take; rare, because each one delays the test by that time.
LATE = (Delay(before_s=1.5), Delay(after_s=1.5))


@dataclass
class Conclusions:
    """The results that the client returned to its callers, by key."""

    written: set[str] = field(default_factory=set)
    not_written: set[str] = field(default_factory=set)
    open: set[str] = field(default_factory=set)


async def append(client: DynamoClient, pk: str, conclusions: Conclusions, *, is_repeatable: bool) -> None:
    try:
        await client.put(PUT, {"pk": pk, "value": pk}, condition=ABSENT, repeatable=is_repeatable)
    except errors.ConditionFailedError as error:
        is_ours = error.maybe_applied and error.item == {"pk": pk, "value": pk}
        (conclusions.written if is_ours else conclusions.not_written).add(pk)
    except errors.DynamoError as error:
        (conclusions.open if error.maybe_applied else conclusions.not_written).add(pk)
    else:
        conclusions.written.add(pk)


async def storm(url: str, prefix: str, *, is_repeatable: bool) -> Conclusions:
    conclusions = Conclusions()
    keys = iter([f"k{n}" for n in range(APPENDS)])
    # Two of five calls meet a fault, for which no realistic retry budget is sufficient.
    tireless = replace(QUICK.retries, max_tries=12, budget=1_000_000)
    limits = replace(
        QUICK, try_timeout_s=1.0, retries=tireless, pool=PoolLimits(max_connections=AT_ONCE // 2)
    )

    async def writer(client: DynamoClient) -> None:
        for pk in keys:
            await append(client, pk, conclusions, is_repeatable=is_repeatable)

    async with open_client(url, REGION, prefix, limits=limits) as client:
        await asyncio.gather(*(writer(client) for _ in range(AT_ONCE)))
    return conclusions


@pytest.mark.parametrize("is_repeatable", [True, False])
@pytest.mark.parametrize("seed", [1, 2])
def test_results_of_the_client_are_true_under_all_faults(
    dynamo: Dynamo, table: Table, space: Namespace, seed: int, *, is_repeatable: bool
) -> None:
    with DynamoProxy(dynamo.url) as proxy:
        for number, fault in enumerate(WEATHER):
            proxy.fault(fault, dose=Chance(0.04, seed=seed * 100 + number))
        for number, fault in enumerate(LATE):
            proxy.fault(fault, dose=Chance(0.01, seed=seed * 200 + number))
        conclusions = asyncio.run(storm(proxy.url, space.table_prefix, is_repeatable=is_repeatable))
        proxy.wait_until(lambda: all(call.is_done for call in proxy.calls))
        calls = proxy.counts["PutItem"]
    there = table.keys()
    assert conclusions.written <= there
    assert conclusions.not_written.isdisjoint(there)
    assert len(conclusions.written) + len(conclusions.not_written) + len(conclusions.open) == APPENDS
    assert len(conclusions.written) > APPENDS // 2
    assert calls > APPENDS, "no call was retried"
    if is_repeatable:
        assert len(conclusions.open) < APPENDS // 4, "most calls are retried until the outcome is known"
