"""The queue of jobs that are looked after: of all tenants, in shards, by their time."""

import hashlib
from collections.abc import Sequence

from tidings.jobs.model import Due, JobId
from tidings.kernel.clock import time_text
from tidings.kernel.fences import Fence
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.client import Client
from tidings.platform.dynamo.errors import DynamoError, TransactionCancelledError
from tidings.platform.dynamo.outcomes import unread, unwritten
from tidings.platform.dynamo.queries import Query
from tidings.platform.dynamo.transactions import Delete, Put
from tidings.platform.dynamo.values import Item, Value
from tidings.tables.items.inbox import DUE, DUE_SORT, SHARDS
from tidings.tables.keys import KeyTemplate
from tidings.tables.patterns import jobs as patterns

_AT_ONCE = 100
_BEFORE = KeyTemplate("{at_ms:013d}#")


class DynamoDue:
    shards = SHARDS

    def __init__(self, client: Client) -> None:
        self._client = client

    async def due(self, shard: int, now_ms: int) -> Sequence[Due]:
        query = Query(
            condition="PK = :p AND SK < :now",
            values={":p": DUE.render(shard=shard), ":now": _BEFORE.render(at_ms=now_ms + 1)},
            limit=_AT_ONCE,
        )
        try:
            page = await self._client.query(patterns.LIST_DUE, query)
        except DynamoError as error:
            unread(error)
        return [_due_of(item) for item in page.items]

    async def enqueue(self, due: Due) -> None:
        try:
            await self._client.put(patterns.ENQUEUE, due_item(due), repeatable=True)
        except DynamoError as error:
            unwritten(error)

    async def reschedule(self, due: Due, later: Due) -> bool:
        actions = [
            Delete(table="inbox", key=_key(due), condition="attribute_exists(PK)"),
            Put(table="inbox", item=due_item(later)),
        ]
        try:
            await self._client.transact_write(patterns.RESCHEDULE, actions)
        except TransactionCancelledError as cancelled:
            if cancelled.reasons[0].is_condition:
                return False
            unwritten(cancelled)
        except DynamoError as error:
            unwritten(error)
        return True

    async def dequeue(self, due: Due) -> None:
        try:
            await self._client.delete(patterns.DEQUEUE, _key(due), repeatable=True)
        except DynamoError as error:
            unwritten(error)


def shard_of(job: JobId) -> int:
    """By a hash: ids of one moment look alike at their beginning."""
    return hashlib.blake2b(job.encode(), digest_size=1).digest()[0] % SHARDS


def due_item(due: Due) -> dict[str, Value]:
    return _key(due) | {
        "created_at": time_text(due.at_ms),
        "seen": due.seen,
        "tries": due.tries,
        "fences": {str(fence.partition): fence.offset for fence in due.fences},
    }


def _key(due: Due) -> dict[str, Value]:
    return {
        "PK": DUE.render(shard=shard_of(due.job)),
        "SK": DUE_SORT.render(at_ms=due.at_ms, tenant=due.tenant, job=due.job),
    }


def _due_of(item: Item) -> Due:
    at_ms, tenant, job = item["SK"].split("#")
    fences = tuple(Fence(int(partition), int(offset)) for partition, offset in item["fences"].items())
    return Due(TenantId(tenant), JobId(job), int(at_ms), int(item["seen"]), int(item["tries"]), fences)
