"""Jobs, their chunks and the schedule of checks in DynamoDB."""

import asyncio
import hashlib
from collections.abc import Sequence
from itertools import batched

from tidings.jobs import rules
from tidings.jobs.model import CHUNK_USERS, ChunkResult, DueJob, Job, JobClaim, JobId, JobKind, JobState
from tidings.kernel.clock import Clock, format_ms, parse_ms
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.fences import OffsetFence
from tidings.kernel.ids import ChatId, TenantId, UserId, ulid_ms
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import (
    ConditionFailedError,
    DynamoError,
    condition_held,
    raise_write_error,
    translate_read_errors,
    translate_write_errors,
)
from tidings.platform.dynamo.requests import Delete, Put, Query
from tidings.schema.tables.items.inboxes import KEY_SORT, OF_KEY
from tidings.schema.tables.items.jobs import (
    CHUNK_SORT,
    DONE_SORT,
    DUE,
    DUE_SORT,
    JOB_SORT,
    JOBS_OF_TENANT,
    LISTED_SORT,
    OF_JOB,
    SHARDS,
)
from tidings.schema.tables.model import KeyTemplate
from tidings.schema.tables.patterns import jobs as patterns

_TABLE = "inbox"
_MAX_DUE = 100
_DUE_BEFORE = KeyTemplate("{at_ms:013d}#")
_CLAIM_DAYS = 7
_OF_MEMBERS = "m"
_LATER_DAYS = 3
"""Time between the expiry of a list entry, its job, and the job's chunks and done marks.

The list entry must go first, and chunks and marks last: a job without its marks would run again.
"""
_CHUNKS_PER_BATCH = 25
_WRITERS = 4
_DONE, _LISTED = KeyTemplate("d#").render(), KeyTemplate("jb#").render()


class DynamoJobStore:
    due_shards = SHARDS

    def __init__(self, client: DynamoClient, clock: Clock, retention_days: int) -> None:
        self._client = client
        self._clock = clock
        self._retention_days = retention_days

    async def put_chunks(self, job: Job, chunks: Sequence[Sequence[UserId]], kept_days: int | None) -> None:
        # Not before their notifications, whose recipients they list.
        until = {} if kept_days is None else self._expiry(job, 2, kept_days)
        items = [_chunk_item(job, number, users) | until for number, users in enumerate(chunks)]
        writes = (
            self._client.batch_write(patterns.PUT_CHUNKS, puts=some, repeatable=True)
            for some in batched(items, _CHUNKS_PER_BATCH)
        )
        with translate_write_errors:
            await gather_limited(writes, _WRITERS)

    def _expiry(self, job: Job, order: int, kept_days: int = 0) -> dict[str, ItemValue]:
        """Return when an item of a job expires that is created or renewed now."""
        days = max(rules.retention_days(job.kind, self._retention_days), kept_days)
        return _until(rules.kept_from_ms(job, self._clock.now_ms()), days + order * _LATER_DAYS)

    async def claim(self, tenant: TenantId, chat: ChatId, key: str, claim: JobClaim) -> JobClaim:
        item: dict[str, ItemValue] = {
            "PK": OF_KEY.render(tenant=tenant, inbox=chat, origin=_OF_MEMBERS, host_key=key),
            "SK": KEY_SORT.render(),
            "job": claim.job,
            "fingerprint": claim.fingerprint,
            "created_at": format_ms(ulid_ms(claim.job)),
            **_until(ulid_ms(claim.job), _CLAIM_DAYS),
        }
        try:
            await self._client.put(
                patterns.CLAIM_KEY, item, condition="attribute_not_exists(PK)", repeatable=True
            )
        except ConditionFailedError as failed:
            first = failed.item or {}
            return JobClaim(job=JobId(first["job"]), fingerprint=first["fingerprint"])
        except DynamoError as error:
            raise_write_error(error)
        return claim

    async def create(self, job: Job, due: DueJob) -> bool:
        actions = [
            Put(
                table=_TABLE,
                item=_job_item(job) | self._expiry(job, 1),
                condition="attribute_not_exists(PK)",
            ),
            Put(table=_TABLE, item=_listed_item(job) | self._expiry(job, 0)),
            Put(table=_TABLE, item=_due_item(due)),
        ]
        with translate_write_errors:
            return await self._client.try_transact_write(patterns.CREATE, actions, repeatable=True)

    async def read(self, tenant: TenantId, job: JobId) -> Job | None:
        with translate_read_errors:
            item = await self._client.get(patterns.READ, _key(tenant, job, JOB_SORT.render()))
        found = None if item is None else _job_from_item(tenant, job, item)
        # DynamoDB deletes expired items late, in any order: the marks of an expired job may be missing.
        return None if found is None or found.expires_ms <= self._clock.now_ms() else found

    async def chunk(self, tenant: TenantId, job: JobId, chunk: int) -> Sequence[UserId]:
        with translate_read_errors:
            key = _key(tenant, job, CHUNK_SORT.render(chunk=chunk))
            item = await self._client.get(patterns.READ_CHUNK, key)
        return [] if item is None else [UserId(user) for user in item["uids"]]

    async def is_done(self, tenant: TenantId, job: JobId, chunk: int) -> bool:
        with translate_read_errors:
            key = _key(tenant, job, DONE_SORT.render(chunk=chunk))
            return await self._client.get(patterns.READ_DONE, key) is not None

    async def mark_done(self, tenant: TenantId, job: JobId, done: ChunkResult) -> None:
        item = _key(tenant, job, DONE_SORT.render(chunk=done.chunk)) | {
            "done": done.users,
            "failed": list(done.failed),
            "at": done.at_ms,
            # At least as long as a job that was created, started or resumed before this chunk was done.
            **_until(done.at_ms, rules.retention_days(JobKind.ERASE, self._retention_days) + 2 * _LATER_DAYS),
        }
        with translate_write_errors:
            await self._client.put(patterns.MARK_DONE, item, repeatable=True)

    async def done(self, tenant: TenantId, job: JobId) -> Sequence[ChunkResult]:
        query = Query(
            condition="PK = :p AND begins_with(SK, :d)",
            values={":p": OF_JOB.render(tenant=tenant, job=job), ":d": _DONE},
        )
        found: list[ChunkResult] = []
        with translate_read_errors:
            async for page in self._client.pages(patterns.READ_PROGRESS, query):
                found += [_chunk_result_from_item(item) for item in page.items]
        return found

    async def change(self, job: Job, state: JobState, at_ms: int) -> bool:
        with translate_write_errors:
            # Not repeatable: after an automatic retry, a failed condition could be the effect of our own first attempt.
            return await condition_held(
                self._client.update(
                    patterns.CHANGE,
                    _key(job.tenant, job.id, JOB_SORT.render()),
                    "SET #s = :state, version = :next, updated_at = :now",
                    condition="version = :version",
                    names={"#s": "state"},
                    values={
                        ":state": state,
                        ":version": job.version,
                        ":next": job.version + 1,
                        ":now": format_ms(at_ms),
                    },
                )
            )

    async def renew(self, job: Job, done: Sequence[ChunkResult]) -> None:
        days = rules.retention_days(job.kind, self._retention_days)
        if job.expires_ms > self._clock.now_ms() + (days / 2 + _LATER_DAYS) * rules.DAY_MS:
            return
        marks = [DONE_SORT.render(chunk=each.chunk) for each in done]
        chunks = [CHUNK_SORT.render(chunk=number) for number in rules.missing_chunks(job, done)]
        with translate_write_errors:
            # The job after its chunks and marks: it must not outlive them.
            await gather_limited(self._renew(job, sort, 2) for sort in (*marks, *chunks))
            await self._renew(job, JOB_SORT.render(), 1)
            await self._client.put(
                patterns.LIST_AGAIN, _listed_item(job) | self._expiry(job, 0), repeatable=True
            )

    async def _renew(self, job: Job, sort: str, order: int) -> None:
        """Set when an item expires. An item that does not exist, or never expires, stays as it is."""
        await condition_held(
            self._client.update(
                patterns.RENEW,
                _key(job.tenant, job.id, sort),
                "SET #ttl = :ttl",
                condition="#ttl < :ttl",
                names={"#ttl": "ttl"},
                values={f":{name}": value for name, value in self._expiry(job, order).items()},
                repeatable=True,
            )
        )

    async def listed(self, tenant: TenantId, limit: int, below: JobId | None = None) -> Sequence[JobId]:
        parts = await asyncio.gather(*(self._part(tenant, n, limit, below) for n in range(SHARDS)))
        return sorted((job for part in parts for job in part), reverse=True)[:limit]

    async def _part(self, tenant: TenantId, shard: int, limit: int, below: JobId | None) -> list[JobId]:
        partition = JOBS_OF_TENANT.render(tenant=tenant, shard=shard)
        start = None if below is None else {"PK": partition, "SK": LISTED_SORT.render(job=below)}
        query = Query(
            condition="PK = :p AND begins_with(SK, :j)",
            values={":p": partition, ":j": _LISTED},
            limit=limit,
            backward=True,
            start=start,
        )
        with translate_read_errors:
            page = await self._client.query(patterns.LIST, query)
        return [JobId(item["SK"].partition("#")[2]) for item in page.items]

    async def due(self, shard: int, now_ms: int) -> Sequence[DueJob]:
        query = Query(
            condition="PK = :p AND SK < :now",
            values={":p": DUE.render(shard=shard), ":now": _DUE_BEFORE.render(at_ms=now_ms + 1)},
            limit=_MAX_DUE,
        )
        with translate_read_errors:
            page = await self._client.query(patterns.LIST_DUE, query)
        return [_due_from_item(item) for item in page.items]

    async def schedule(self, due: DueJob) -> None:
        with translate_write_errors:
            await self._client.put(patterns.ENQUEUE, _due_item(due), repeatable=True)

    async def reschedule(self, due: DueJob, later: DueJob) -> bool:
        actions = [
            Delete(table=_TABLE, key=_due_key(due), condition="attribute_exists(PK)"),
            Put(table=_TABLE, item=_due_item(later)),
        ]
        with translate_write_errors:
            return await self._client.try_transact_write(patterns.RESCHEDULE, actions)

    async def unschedule(self, due: DueJob) -> None:
        with translate_write_errors:
            await self._client.delete(patterns.DEQUEUE, _due_key(due), repeatable=True)


def due_shard(job: JobId) -> int:
    """Return the shard by a hash: ids that are created at the same time have the same prefix."""
    return hashlib.blake2b(job.encode(), digest_size=1).digest()[0] % SHARDS


def _due_item(due: DueJob) -> dict[str, ItemValue]:
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


def _until(at_ms: int, days: int) -> dict[str, ItemValue]:
    return {"ttl": (at_ms + days * rules.DAY_MS) // 1000}


def _key(tenant: TenantId, job: JobId, sort: str) -> dict[str, ItemValue]:
    return {"PK": OF_JOB.render(tenant=tenant, job=job), "SK": sort}


def _chunk_item(job: Job, chunk: int, users: Sequence[UserId]) -> dict[str, ItemValue]:
    return _key(job.tenant, job.id, CHUNK_SORT.render(chunk=chunk)) | {"uids": list(users)}


def _job_item(job: Job) -> dict[str, ItemValue]:
    return _key(job.tenant, job.id, JOB_SORT.render()) | {
        "kind": job.kind.value,
        "state": job.state.value,
        "inbox": job.inbox,
        "notification": job.notification,
        "source": job.source,
        "total": job.total,
        "chunks": job.chunks,
        "version": job.version,
        "created_at": format_ms(job.created_ms),
        "updated_at": format_ms(job.updated_ms or job.created_ms),
        "starts": job.starts_ms,
        "percent": job.percent,
        "chunk_users": job.chunk_users,
        **({"attempt": job.attempt} if job.attempt else {}),
        **({} if job.chat is None else {"chat": job.chat}),
        **({} if job.user is None else {"user": job.user}),
    }


def _listed_item(job: Job) -> dict[str, ItemValue]:
    return {
        "PK": JOBS_OF_TENANT.render(tenant=job.tenant, shard=due_shard(job.id)),
        "SK": LISTED_SORT.render(job=job.id),
        "kind": job.kind.value,
        "inbox": job.inbox,
        "created_at": format_ms(job.created_ms),
    }


def _job_from_item(tenant: TenantId, job: JobId, item: Item) -> Job:
    return Job(
        tenant=tenant,
        id=job,
        kind=JobKind(item["kind"]),
        inbox=item["inbox"],
        notification=item["notification"],
        source=JobId(item["source"]),
        total=int(item["total"]),
        created_ms=parse_ms(item["created_at"]),
        state=JobState(item["state"]),
        updated_ms=parse_ms(item["updated_at"]),
        version=int(item["version"]),
        starts_ms=int(item.get("starts", 0)),
        percent=int(item.get("percent", 0)),
        chat=item.get("chat"),
        user=item.get("user"),
        chunk_users=int(item.get("chunk_users", CHUNK_USERS)),
        attempt=int(item.get("attempt", 0)),
        expires_ms=int(item["ttl"]) * 1000,
    )


def _chunk_result_from_item(item: Item) -> ChunkResult:
    return ChunkResult(
        chunk=int(item["SK"].partition("#")[2]),
        users=int(item["done"]),
        failed=tuple(UserId(user) for user in item["failed"]),
        at_ms=int(item["at"]),
    )
