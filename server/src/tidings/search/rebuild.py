"""Rebuild the index of a tenant from the tables, by a job. Its chunks are the parts of the tenant's user directory.

Every step can be repeated. A chat is indexed in the chunk of each of its members, unless this process has indexed it for
the job before.
"""

import secrets
from collections import OrderedDict
from typing import Final

from tidings.jobs.model import ChunkRef, ChunkResult, Job, JobId, JobKind, JobState
from tidings.jobs.ports import JobStarter, JobStore
from tidings.kernel.clock import Clock
from tidings.kernel.failpoints import Failpoints
from tidings.kernel.ids import ChatKey, TenantId, UserId, encode_ulid
from tidings.messages.model import EntryKind
from tidings.messages.ports import LogReader
from tidings.search import rules
from tidings.search.indexer import has_search
from tidings.search.model import MessageRef
from tidings.search.ports import MessageTexts, SearchIndex, TenantUsers, UserChats
from tidings.tenants.model import TenantLookup

SETTINGS_S: Final = 2.0
"""How old the settings of a tenant may be in the indexer."""
_START_MS: Final = 5_000
"""Longer than `SETTINGS_S`: a message that the indexer has not indexed, because search was off, is in the tables then."""
_PAGE_ENTRIES: Final = 500
_NO_END: Final = 10**15 - 1
_MAX_KNOWN_CHATS: Final = 500_000


class SearchRebuild:
    """Starts the jobs."""

    def __init__(self, jobs: JobStarter, users: TenantUsers, clock: Clock) -> None:
        self._jobs = jobs
        self._users = users
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
                total=self._users.parts,
                created_ms=now_ms,
                starts_ms=now_ms + _START_MS,
                chunk_users=1,
            )
        )
        return job


class RebuildWorker:
    """Indexes the chats of the users in one part of the directory."""

    def __init__(
        self,
        jobs: JobStore,
        users: TenantUsers,
        chats: UserChats,
        *,
        log: LogReader,
        texts: MessageTexts,
        index: SearchIndex,
        tenants: TenantLookup,
        clock: Clock,
        failpoints: Failpoints,
    ) -> None:
        self._jobs = jobs
        self._users = users
        self._chats = chats
        self._log = log
        self._texts = texts
        self._index = index
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
        if await has_search(self._tenants, ref.tenant):
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
            await self._index_chat(chat)
            self._indexed[job.id, chat] = None
            if len(self._indexed) > _MAX_KNOWN_CHATS:
                self._indexed.popitem(last=False)

    async def _index_chat(self, chat: ChatKey) -> None:
        """Index the present state of all messages of a chat."""
        # Race: a message is redacted after it is read here, and the indexer removes it before the page is applied. The
        # document has the version of the message, which is lower than that of the redaction, so the index refuses it.
        at = 0
        while page := await self._log.range(chat, at, _NO_END, _PAGE_ENTRIES, newest_first=False):
            at = page[-1].sequence
            messages = [entry for entry in page if entry.kind is EntryKind.MESSAGE]
            if messages:
                shown = await self._texts.show(chat, messages)
                await self._failpoints.hit("search.read")
                await self._index.apply(
                    [
                        rules.index_change(MessageRef(chat, each.entry.sequence), each, each.entry.sequence)
                        for each in shown
                    ]
                )
