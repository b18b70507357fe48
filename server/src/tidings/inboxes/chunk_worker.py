"""Who of a chunk is not given a notification, because its inbox wants users with a profile and he has none."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from enum import Enum

from msgspec.structs import replace

from tidings.inboxes import rules
from tidings.inboxes.config_service import InboxConfigCache
from tidings.inboxes.model import (
    InboxChange,
    InboxKey,
    InboxSnapshot,
    NotificationContent,
    NotificationId,
    NotificationRow,
)
from tidings.inboxes.ports import (
    ChunkStore,
    ContentStore,
    GiveResult,
    InboxChangeNotifier,
    InboxEvent,
    InboxOperation,
    InboxRepository,
    UserDirectory,
)
from tidings.inboxes.state import InboxStateService
from tidings.jobs.model import ChunkRef, ChunkResult, Job, JobKind, JobState
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId


class UnknownUserFilter:
    def __init__(self, inboxes: InboxConfigCache, directory: UserDirectory) -> None:
        self._inboxes = inboxes
        self._directory = directory

    async def among(self, tenant: TenantId, inbox: str, users: Sequence[UserId]) -> Collection[UserId]:
        """Nobody, and nothing is read, where the inbox is for everybody."""
        if not (await self._inboxes.of(tenant, inbox)).is_for_known_users:
            return ()
        known = await self._directory.known(tenant, users)
        return [user for user in users if user not in known]


_TRIES = 50
"""Each time somebody else gave or marked something in between."""


class DeliveryOutcome(Enum):
    """`LATE`: it has expired, or was sent before what this user's inbox still keeps."""

    GIVEN = "given"
    THERE = "there"
    LATE = "late"


class NotificationDeliverer:
    def __init__(self, repository: InboxRepository, clock: Clock, live: InboxChangeNotifier) -> None:
        self._repository = repository
        self._clock = clock
        self._live = live

    async def __call__(self, inbox_key: InboxKey, row: NotificationRow) -> DeliveryOutcome:
        """`row.delivered_ms` is set here: later than every mark of the user, so that none is below one unseen."""
        latest_ms = 0
        for _ in range(_TRIES):
            at_ms = max(self._clock.now_ms(), latest_ms + 1)
            if row.expires_ms is not None and row.expires_ms <= at_ms:
                return DeliveryOutcome.LATE
            given = await self._repository.add(inbox_key, replace(row, delivered_ms=at_ms))
            if isinstance(given, GiveResult):
                return self._publisher(inbox_key, row.id, given)
            if given.retained_from_ms > row.sent_ms:
                return DeliveryOutcome.LATE
            latest_ms = given.latest_ms
        raise TidingsError(Code.OVERLOADED, "Too many change this inbox at once.")

    def _publisher(
        self, inbox_key: InboxKey, notification: NotificationId, result: GiveResult
    ) -> DeliveryOutcome:
        """Told again if it was there: whoever gave it may have died before he told."""
        self._live.notify(inbox_key, InboxEvent.GIVEN, notification)
        return DeliveryOutcome.GIVEN if result is GiveResult.GIVEN else DeliveryOutcome.THERE


class NotificationWithdrawer:
    def __init__(self, inbox_state: InboxStateService) -> None:
        self._state = inbox_state

    async def __call__(
        self, inbox_key: InboxKey, notification: NotificationId, category: int
    ) -> InboxSnapshot:
        """May be repeated at will: what is redacted stays as it was then."""

        async def edit(snapshot: InboxSnapshot) -> InboxChange | None:
            row = (await self._state.repository.rows(inbox_key, [notification])).get(notification)
            after = rules.redact(row, snapshot, notification, category)
            return None if after == row else rules.apply_row_changes(snapshot, [(row, after)])

        snapshot = await self._state.change(inbox_key, InboxOperation.REDACT, edit)
        # told again if it was there: whoever took it may have died before he told
        self._state.notify(inbox_key, InboxEvent.REDACTED, notification)
        return snapshot


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
