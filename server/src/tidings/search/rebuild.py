"""Rebuild the index of a tenant from the tables, by a job. Its chunks are the parts of the tenant's user directory.

Every step can be repeated. A chat is indexed in the chunk of each of its members, unless this process has indexed it for
the job before. Chats of users who are not in the directory are indexed by the indexer, at their next entry.
"""

import secrets
from collections import OrderedDict
from typing import Final

from tidings.jobs.model import WHOLE_TENANT, ChunkRef, ChunkResult, Job, JobId, JobKind, JobState
from tidings.jobs.ports import JobStarter, JobStore
from tidings.kernel.clock import Clock
from tidings.kernel.failpoints import Failpoints
from tidings.kernel.ids import ChatKey, TenantId, UserId, encode_ulid
from tidings.search.chat_indexer import ChatIndexer
from tidings.search.erasure import IndexErasure
from tidings.search.indexer import has_search
from tidings.search.ports import TenantUsers, UserChats
from tidings.tenants.model import TenantLookup

SETTINGS_S: Final = 2.0
"""How old the settings of a tenant may be in the indexer."""
_START_MS: Final = 5_000
"""Longer than `SETTINGS_S`: a message that the indexer has not indexed, because search was off, is in the tables then."""
_MAX_KNOWN_CHATS: Final = 500_000


class SearchRebuild:
    """Starts the jobs. `parts`: of a tenant's directory of users."""

    def __init__(self, jobs: JobStarter, parts: int, clock: Clock) -> None:
        self._jobs = jobs
        self._parts = parts
        self._clock = clock

    async def start(self, tenant: TenantId) -> JobId:
        """Start a job that indexes all messages of the tenant, after every process has its present settings."""
        now_ms = self._clock.now_ms()
        job = JobId(encode_ulid(now_ms, secrets.randbits(80)))
        await self._jobs.start(
            Job(
                tenant=tenant,
                id=job,
                kind=JobKind.INDEX,
                source=job,
                total=self._parts,
                created_ms=now_ms,
                starts_ms=now_ms + _START_MS,
                chunk_users=1,
            )
        )
        return job


class RebuildWorker:
    """Indexes the chats of the users in one part of the directory, or deletes the documents of an erased user or a deleted tenant."""

    def __init__(
        self,
        jobs: JobStore,
        users: TenantUsers,
        chats: UserChats,
        *,
        indexer: ChatIndexer,
        erasure: IndexErasure,
        tenants: TenantLookup,
        clock: Clock,
        failpoints: Failpoints,
    ) -> None:
        self._erasure = erasure
        self._jobs = jobs
        self._users = users
        self._chats = chats
        self._indexer = indexer
        self._tenants = tenants
        self._clock = clock
        self._failpoints = failpoints
        self._indexed: OrderedDict[tuple[JobId, ChatKey], None] = OrderedDict()

    async def process(self, ref: ChunkRef) -> None:
        """Process one chunk and record the result. Idempotent. Raises retryable errors; then process it again."""
        job = await self._jobs.read(ref.tenant, ref.job)
        if job is None or job.state is not JobState.RUNNING or ref.chunk >= job.chunks:
            return
        if job.starts_ms > self._clock.now_ms() or await self._jobs.is_done(ref.tenant, ref.job, ref.chunk):
            return
        if job.user == WHOLE_TENANT:
            await self._erasure.erase_tenant(job.tenant)
        elif job.user is not None:
            await self._erasure.erase_user(job.tenant, job.user)
        elif await has_search(self._tenants, ref.tenant):
            for user in await self._users.users_in(ref.tenant, ref.chunk):
                await self._index_chats(job, user)
        await self._failpoints.hit("search.rebuilt")
        done = ChunkResult(chunk=ref.chunk, users=1, failed=(), at_ms=self._clock.now_ms())
        await self._jobs.mark_done(ref.tenant, ref.job, done)

    async def _index_chats(self, job: Job, user: UserId) -> None:
        for chat_id in sorted(await self._chats.chats_of(job.tenant, user)):
            chat = ChatKey(job.tenant, chat_id)
            if (job.id, chat) in self._indexed:
                continue
            await self._indexer.index(chat)
            self._indexed[job.id, chat] = None
            if len(self._indexed) > _MAX_KNOWN_CHATS:
                self._indexed.popitem(last=False)
