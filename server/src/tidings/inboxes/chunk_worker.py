"""Process the chunks of jobs: deliver a notification to users, withdraw it, or announce a change."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from tidings.inboxes.broadcasts.ports import ProfileStore
from tidings.inboxes.channels.ports import ChannelJobStarter, SendChunk
from tidings.inboxes.config import Inbox
from tidings.inboxes.config_service import InboxConfigCache
from tidings.inboxes.deliverer import DigestDeliverer, NotificationDeliverer, NotificationWithdrawer
from tidings.inboxes.digests import NO_KEY, DigestRule
from tidings.inboxes.model import (
    DeliveredChunk,
    DigestKey,
    InboxKey,
    NotificationContent,
    NotificationId,
    NotificationRow,
)
from tidings.inboxes.ports import (
    ContentStore,
    DeliveryOutcome,
    InboxEvent,
    InboxNotifier,
    PreferenceStore,
)
from tidings.inboxes.preferences import NO_PREFERENCES, Channel, Exclusion, Throttle, UserPreferences
from tidings.jobs.model import KINDS_WITH_A_TOPIC, ChunkRef, ChunkResult, Job, JobKind, JobState
from tidings.jobs.ports import JobStore
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import TenantId, UserId

MAX_CONCURRENT = 32
"""Users of a chunk that are processed at the same time."""

type OnRelease = Callable[[TenantId, NotificationId, int], Awaitable[object]]
"""Releases a broadcast to a percentage of its users."""
type AddMembers = Callable[[Job, int, Sequence[UserId]], Awaitable[Sequence[UserId]]]
"""Adds the users of a chunk, given by its number, to the job's chat. Returns the users that could not be added."""
type OnDelivered = Callable[[DeliveredChunk], Awaitable[None]]
"""Called before a chunk is recorded as done, so at least once. May raise a retryable error."""
type UserAction = Callable[[InboxKey], Awaitable[bool]]
"""Processes one user. False: failed for this user, permanently."""


@dataclass(slots=True)
class OtherChannels:
    """The users of a chunk who receive a notification by other channels too."""

    webhook: list[UserId] = field(default_factory=list)
    email: list[UserId] = field(default_factory=list)
    push: list[UserId] = field(default_factory=list)

    def add(self, user: UserId, channels: Mapping[Channel, bool], outcome: DeliveryOutcome) -> None:
        if outcome is DeliveryOutcome.LATE:
            return
        # No webhook for a user above the limit of the category. If the chunk is repeated, their row exists, and they are
        # reported: an event too many, instead of one too few.
        is_above_limit = outcome is DeliveryOutcome.EXCLUDED and channels[Channel.INBOX]
        if channels[Channel.WEBHOOK] and not is_above_limit:
            self.webhook.append(user)
        # Only the first notification of a digest is sent. The workers of both channels skip users above the limit.
        if outcome is DeliveryOutcome.GATHERED:
            return
        if channels[Channel.EMAIL]:
            self.email.append(user)
        if channels[Channel.PUSH]:
            self.push.append(user)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelActions:
    """The channels of the installation that send by jobs: how to start their jobs, and those that this process sends."""

    start: Mapping[Channel, ChannelJobStarter] = field(default_factory=dict)
    send: Mapping[JobKind, SendChunk] = field(default_factory=dict)


class ChunkWorker:
    def __init__(
        self,
        jobs: JobStore,
        contents: ContentStore,
        *,
        deliverer: NotificationDeliverer,
        digests: DigestDeliverer,
        withdrawer: NotificationWithdrawer,
        on_release: OnRelease,
        add_members: AddMembers,
        notifier: InboxNotifier,
        inboxes: InboxConfigCache,
        profiles: ProfileStore,
        preferences: PreferenceStore,
        clock: Clock,
        on_delivered: OnDelivered | None = None,
    ) -> None:
        self._jobs = jobs
        self._contents = contents
        self._deliverer = deliverer
        self._digests = digests
        self._withdrawer = withdrawer
        self._on_release = on_release
        self._add_members = add_members
        self._notifier = notifier
        self._inboxes = inboxes
        self._profiles = profiles
        self._preferences = preferences
        self._clock = clock
        self._on_delivered = on_delivered
        self._channels = ChannelActions()

    def use_channels(self, channels: ChannelActions) -> None:
        """Send over these channels too. Call it before the first chunk."""
        self._channels = channels

    async def process(self, ref: ChunkRef) -> None:
        """Process one chunk and record the result. Idempotent.

        Does nothing if the job is not running, has not started or has done this chunk. Resuming a paused job
        publishes its missing chunks again. Raises retryable errors; then process the whole chunk again.
        """
        job = await self._jobs.read(ref.tenant, ref.job)
        if job is None or job.state is not JobState.RUNNING or ref.chunk >= job.chunks:
            return
        if job.starts_ms > self._clock.now_ms():
            return
        if await self._jobs.is_done(ref.tenant, ref.job, ref.chunk):
            return
        if job.kind is JobKind.BROADCAST:
            await self._on_release(job.tenant, NotificationId(job.notification), job.percent)
            await self._jobs.mark_done(ref.tenant, ref.job, self._result(ref.chunk, 1))
            return
        users = await self._jobs.chunk(ref.tenant, job.source, ref.chunk)
        if job.kind is JobKind.ADD_MEMBERS:
            failed = await self._add_members(job, ref.chunk, users)
        elif job.kind in KINDS_WITH_A_TOPIC:
            failed = await self._channels.send[job.kind](job, ref.chunk, users)
        else:
            content = await self._contents.find(ref.tenant, NotificationId(job.notification))
            if content is None:
                return
            failed = await self._process_users(job, ref.chunk, content, users)
        await self._jobs.mark_done(
            ref.tenant, ref.job, self._result(ref.chunk, len(users) - len(failed), failed)
        )

    async def _process_users(
        self, job: Job, chunk: int, content: NotificationContent, users: Sequence[UserId]
    ) -> Sequence[UserId]:
        unknown, others = await self._unknown_users(job, users), OtherChannels()
        known = [each for each in users if each not in unknown]
        failed = await self._each(job, content, known, others)
        # Before the chunk is marked as done: a worker that dies here repeats the chunk, and finds the same jobs.
        for channel, chosen in ((Channel.EMAIL, others.email), (Channel.PUSH, others.push)):
            jobs = self._channels.start.get(channel)
            if chosen and jobs is not None:
                starts_ms = await self._mail_time(job, content) if channel is Channel.EMAIL else 0
                await jobs.start(job, chunk, sorted(chosen), starts_ms=starts_ms, attempt=0)
        if others.webhook and self._on_delivered is not None:
            await self._on_delivered(DeliveredChunk(job, chunk, tuple(others.webhook)))
        return [*unknown, *failed]

    async def _mail_time(self, job: Job, content: NotificationContent) -> int:
        """Return when to send mails: at the end of a digest, or now."""
        _, digest = _limits(content, await self._inboxes.of(job.tenant, job.inbox))
        return 0 if digest is None else self._clock.now_ms() + digest.window_ms

    def _result(self, chunk: int, users: int, failed: Sequence[UserId] = ()) -> ChunkResult:
        return ChunkResult(chunk=chunk, users=users, failed=tuple(failed), at_ms=self._clock.now_ms())

    async def _unknown_users(self, job: Job, users: Sequence[UserId]) -> Collection[UserId]:
        """Return the users without a profile, if the inbox accepts known users only. Otherwise read nothing."""
        if job.kind is not JobKind.DELIVER:
            return ()
        if not (await self._inboxes.of(job.tenant, job.inbox)).is_for_known_users:
            return ()
        known = await self._profiles.known(job.tenant, users)
        return [user for user in users if user not in known]

    async def _each(
        self, job: Job, content: NotificationContent, users: Sequence[UserId], others: OtherChannels
    ) -> list[UserId]:
        """Process the users concurrently. Returns the users that failed. Adds to `others`."""
        action = await self._action(job, content, users, others)
        calls = (_is_done(action, InboxKey(job.tenant, user, content.inbox)) for user in users)
        # All users are processed, also after an error: a retry must not meet a write that is still in flight.
        outcomes = await gather_limited(calls, MAX_CONCURRENT)
        return [user for user, is_done in zip(users, outcomes, strict=True) if not is_done]

    async def _action(
        self, job: Job, content: NotificationContent, users: Sequence[UserId], others: OtherChannels
    ) -> UserAction:
        async def withdraw(inbox_key: InboxKey) -> bool:
            await self._withdrawer.withdraw(inbox_key, content.id, content.category)
            return True

        async def announce_amendment(inbox_key: InboxKey) -> bool:
            self._notifier.notify(inbox_key, InboxEvent.AMENDED, content.id)
            return True

        async def announce_in_digest(inbox_key: InboxKey) -> bool:
            shown_by = await self._digests.shown_by(inbox_key, content.id)
            self._notifier.notify(inbox_key, InboxEvent.AMENDED, shown_by)
            return True

        match job.kind:
            case JobKind.DELIVER:
                inbox = await self._inboxes.of(job.tenant, job.inbox)
                chosen = await self._chosen(inbox, job, content, users)
                return self._delivery(content, inbox, chosen, others)
            case JobKind.REDACT:
                return withdraw
            case JobKind.AMEND:
                inbox = await self._inboxes.of(job.tenant, job.inbox)
                has_digest = inbox.settings_of(content.category).digest is not None
                return announce_in_digest if has_digest else announce_amendment
            case _:
                raise ValueError(f"a job of kind {job.kind} has no action for a single user")

    async def _chosen(
        self, inbox: Inbox, job: Job, content: NotificationContent, users: Sequence[UserId]
    ) -> Mapping[UserId, UserPreferences]:
        """Read the users' preferences, unless they do not apply to this notification."""
        if content.is_critical or inbox.settings_of(content.category).is_critical:
            return {}
        return await self._preferences.of(job.tenant, inbox.id, users)

    def _delivery(
        self,
        content: NotificationContent,
        inbox: Inbox,
        chosen: Mapping[UserId, UserPreferences],
        others: OtherChannels,
    ) -> UserAction:
        row = NotificationRow(
            id=content.id,
            category=content.category,
            delivered_ms=None,
            host_system_id=content.host_system_id,
            expires_ms=content.expires_ms,
        )

        throttle, rule = _limits(content, inbox)

        async def deliver(inbox_key: InboxKey) -> bool:
            # A recalled notification is not delivered: the recall's own job writes a redacted row for every user.
            if content.redacted_ms is not None:
                return False
            channels = inbox.channels_for(
                content.category,
                chosen.get(inbox_key.user, NO_PREFERENCES),
                is_critical=content.is_critical,
            )
            if not channels[Channel.INBOX]:
                outcome = await self._deliverer.exclude(inbox_key, row, Exclusion.CHANNEL_OFF)
            elif rule is not None:
                outcome = await self._digests.deliver(inbox_key, row, rule)
            else:
                outcome = await self._deliverer.deliver(inbox_key, row, throttle)
            others.add(inbox_key.user, channels, outcome)
            return outcome is not DeliveryOutcome.LATE

        return deliver


def _limits(content: NotificationContent, inbox: Inbox) -> tuple[Throttle | None, DigestRule | None]:
    """Return the limit and the digest that apply to a notification. Critical notifications have neither."""
    settings = inbox.settings_of(content.category)
    if content.is_critical or settings.is_critical:
        return None, None
    if settings.digest is None:
        return settings.throttle, None
    key = DigestKey(content.category, content.digest_key or NO_KEY)
    return settings.throttle, DigestRule(key, settings.digest.window_s * 1000, settings.throttle)


async def _is_done(action: UserAction, inbox_key: InboxKey) -> bool:
    """Return False for a permanent error: it is recorded in the chunk's result and does not block other users."""
    try:
        return await action(inbox_key)
    except TidingsError as error:
        if error.retryable:
            raise
        return False
