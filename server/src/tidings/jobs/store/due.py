"""The queue of jobs that are looked after: of all tenants, in shards, by their time."""

import hashlib
from collections.abc import Sequence

from tidings.jobs.model import DueJob, JobId
from tidings.kernel.clock import format_ms
from tidings.kernel.fences import OffsetFence
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import DynamoError, TransactionCancelledError
from tidings.platform.dynamo.outcomes import raise_read_error, raise_write_error
from tidings.platform.dynamo.queries import Query
from tidings.platform.dynamo.transactions import Delete, Put
from tidings.platform.dynamo.values import Item, ItemValue
from tidings.tables.items.inbox import DUE, DUE_SORT, SHARDS
from tidings.tables.keys import KeyTemplate
from tidings.tables.patterns import jobs as patterns

_MAX_CONCURRENT = 100
_DUE_BEFORE = KeyTemplate("{at_ms:013d}#")


class DynamoDueJobs:
    shards = SHARDS

    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def due(self, shard: int, now_ms: int) -> Sequence[DueJob]:
        query = Query(
            condition="PK = :p AND SK < :now",
            values={":p": DUE.render(shard=shard), ":now": _DUE_BEFORE.render(at_ms=now_ms + 1)},
            limit=_MAX_CONCURRENT,
        )
        try:
            page = await self._client.query(patterns.LIST_DUE, query)
        except DynamoError as error:
            raise_read_error(error)
        return [_due_from_item(item) for item in page.items]

    async def enqueue(self, due: DueJob) -> None:
        try:
            await self._client.put(patterns.ENQUEUE, due_item(due), repeatable=True)
        except DynamoError as error:
            raise_write_error(error)

    async def reschedule(self, due: DueJob, later: DueJob) -> bool:
        actions = [
            Delete(table="inbox", key=_due_key(due), condition="attribute_exists(PK)"),
            Put(table="inbox", item=due_item(later)),
        ]
        try:
            await self._client.transact_write(patterns.RESCHEDULE, actions)
        except TransactionCancelledError as cancelled:
            if cancelled.reasons[0].is_condition:
                return False
            raise_write_error(cancelled)
        except DynamoError as error:
            raise_write_error(error)
        return True

    async def dequeue(self, due: DueJob) -> None:
        try:
            await self._client.delete(patterns.DEQUEUE, _due_key(due), repeatable=True)
        except DynamoError as error:
            raise_write_error(error)


def due_shard(job: JobId) -> int:
    """By a hash: ids of one moment look alike at their beginning."""
    return hashlib.blake2b(job.encode(), digest_size=1).digest()[0] % SHARDS


def due_item(due: DueJob) -> dict[str, ItemValue]:
    return _due_key(due) | {
        "created_at": format_ms(due.at_ms),
        "seen": due.seen,
        "tries": due.tries,
        "fences": {str(fence.partition): fence.offset for fence in due.fences},
    }


def _due_key(due: DueJob) -> dict[str, ItemValue]:
    return {
        "PK": DUE.render(shard=due_shard(due.job)),
        "SK": DUE_SORT.render(at_ms=due.at_ms, tenant=due.tenant, job=due.job),
    }


def _due_from_item(item: Item) -> DueJob:
    at_ms, tenant, job = item["SK"].split("#")
    fences = tuple(OffsetFence(int(partition), int(offset)) for partition, offset in item["fences"].items())
    return DueJob(TenantId(tenant), JobId(job), int(at_ms), int(item["seen"]), int(item["tries"]), fences)
