"""Does one chunk of a job: a notice given to a hundred users, or taken from them. What a worker does with an event.

The mark that it is done is the last thing written, so a chunk that was done in part is done again; giving and taking
are the same again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence

from tidings.jobs.model import ChunkRef, ChunkResult, Job, JobKind, JobState
from tidings.kernel.clock import Clock
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import TenantId, UserId
from tidings.notices.give import DeliveryOutcome, NotificationDeliverer
from tidings.notices.model import InboxKey, NotificationContent, NotificationId, NotificationRow
from tidings.notices.ports import ChunkStore, ContentStore, InboxChangeNotifier, InboxEvent
from tidings.notices.strangers import UnknownUserFilter
from tidings.notices.withdraw import NotificationWithdrawer

MAX_CONCURRENT = 32
"""Users of a chunk that are worked on at the same time."""

type OnRelease = Callable[[TenantId, NotificationId, int], Awaitable[object]]
"""A broadcast, to so many percent of its users."""
type UserAction = Callable[[InboxKey], Awaitable[bool]]


class ChunkWorker:
    def __init__(
        self,
        jobs: ChunkStore,
        contents: ContentStore,
        *,
        give: NotificationDeliverer,
        withdraw: NotificationWithdrawer,
        show: OnRelease,
        live: InboxChangeNotifier,
        strangers: UnknownUserFilter,
        clock: Clock,
    ) -> None:
        self._show = show
        self._jobs = jobs
        self._contents = contents
        self._deliver = give
        self._withdraw = withdraw
        self._live = live
        self._unknown_users = strangers
        self._clock = clock

    async def __call__(self, ref: ChunkRef) -> None:
        """Raises what is retryable: then all of it is done again."""
        job = await self._jobs.read(ref.tenant, ref.job)
        if job is None or job.state is not JobState.RUNNING or ref.chunk >= job.chunks:
            # paused: who resumes it publishes what is missing
            return
        if job.starts_ms > self._clock.now_ms():
            return
        if await self._jobs.is_done(ref.tenant, ref.job, ref.chunk):
            return
        if job.kind is JobKind.BROADCAST:
            await self._show(job.tenant, NotificationId(job.notification), job.percent)
            await self._jobs.mark_done(ref.tenant, ref.job, self._done(ref.chunk, 1))
            return
        content = await self._contents.find(ref.tenant, NotificationId(job.notification))
        if content is None:
            return
        users = await self._jobs.chunk(ref.tenant, job.source, ref.chunk)
        refused = await self._refused(job, users)
        failed = [*refused, *await self._each(job, content, [each for each in users if each not in refused])]
        await self._jobs.mark_done(
            ref.tenant, ref.job, self._done(ref.chunk, len(users) - len(failed), failed)
        )

    def _done(self, chunk: int, users: int, failed: Sequence[UserId] = ()) -> ChunkResult:
        return ChunkResult(chunk=chunk, users=users, failed=tuple(failed), at_ms=self._clock.now_ms())

    async def _refused(self, job: Job, users: Sequence[UserId]) -> Collection[UserId]:
        if job.kind is not JobKind.DELIVER:
            return ()
        return await self._unknown_users.among(job.tenant, job.inbox, users)

    async def _each(self, job: Job, content: NotificationContent, users: Sequence[UserId]) -> list[UserId]:
        doing = self._actions(job.kind, content)
        gate = asyncio.Semaphore(MAX_CONCURRENT)

        async def one(user: UserId) -> bool:
            async with gate:
                return await _is_done(doing, InboxKey(job.tenant, user, content.inbox))

        # all of them, also after a fault: what is still at work would meet its own repeat
        outcomes = await asyncio.gather(*map(one, users), return_exceptions=True)
        for fault in (each for each in outcomes if isinstance(each, BaseException)):
            raise fault
        return [user for user, is_done in zip(users, outcomes, strict=True) if not is_done]

    def _actions(self, kind: JobKind, content: NotificationContent) -> UserAction:
        match kind:
            case JobKind.DELIVER:
                return self._delivering(content)
            case JobKind.REDACT:
                return self._taking(content)
            case JobKind.AMEND:
                return self._telling(content)
            case JobKind.BROADCAST:
                raise ValueError("a broadcast has no users of its own")

    def _delivering(self, content: NotificationContent) -> UserAction:
        row = NotificationRow(
            id=content.id,
            category=content.category,
            delivered_ms=None,
            host_system_id=content.host_system_id,
            expires_ms=content.expires_ms,
        )

        async def give(owner: InboxKey) -> bool:
            # recalled meanwhile: the recall leaves its mark with everybody
            return content.redacted_ms is None and await self._deliver(owner, row) is not DeliveryOutcome.LATE

        return give

    def _taking(self, content: NotificationContent) -> UserAction:
        async def take(owner: InboxKey) -> bool:
            await self._withdraw(owner, content.id, content.category)
            return True

        return take

    def _telling(self, content: NotificationContent) -> UserAction:
        async def tell(owner: InboxKey) -> bool:
            self._live.notify(owner, InboxEvent.AMENDED, content.id)
            return True

        return tell


async def _is_done(doing: UserAction, inbox_key: InboxKey) -> bool:
    """What would fail again and again is told in the chunk's mark, and keeps nobody else waiting."""
    try:
        return await doing(inbox_key)
    except TidingsError as error:
        if error.retryable:
            raise
        return False
