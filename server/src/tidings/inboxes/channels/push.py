"""Send notifications to the devices of users: the channel `push`.

A user with a connected device sees the notification there. The first attempt leaves them out; after half a minute, they
are notified if they have not read it.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from tidings.connections.model import RouteLookup
from tidings.inboxes.channels import rules
from tidings.inboxes.channels.model import AlertOutcome, InboxAlert, SkipReason
from tidings.inboxes.channels.ports import AlertSender, ChannelJobStarter
from tidings.inboxes.channels.reader import ChannelBatch, ChannelReader
from tidings.inboxes.preferences import Channel
from tidings.jobs.model import Job
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.ids import TenantId, UserId

RETRY_AFTER_S = (30, 30, 60, 120, 240, 480, 960)
"""Times between the attempts. The tenant's `max_age_s` ends them."""
_MAX_CONCURRENT = 32
_BODIES = ("body", "text")

type HasProviders = Callable[[TenantId], Awaitable[bool]]
"""Returns whether a tenant has push providers."""


class PushJobs:
    """Starts jobs of tenants that have push providers."""

    def __init__(self, jobs: ChannelJobStarter, has_providers: HasProviders) -> None:
        self._jobs = jobs
        self._has_providers = has_providers

    async def start(
        self, parent: Job, chunk: int, users: Sequence[UserId], *, starts_ms: int, attempt: int
    ) -> None:
        if await self._has_providers(parent.tenant):
            await self._jobs.start(parent, chunk, users, starts_ms=starts_ms, attempt=attempt)


@dataclass(frozen=True, slots=True, kw_only=True)
class PushChunks:
    reader: ChannelReader
    jobs: ChannelJobStarter
    alerts: AlertSender
    routes: RouteLookup
    clock: Clock

    async def send(self, job: Job, chunk: int, users: Sequence[UserId]) -> Sequence[UserId]:
        """Send a chunk, and start a later job for the users who must wait. Idempotent.

        Returns the users whose devices could not be notified. Raises a retryable error if an engine fails; then repeat it.
        """
        batch = await self.reader.read(job, users)
        if batch is None:
            return ()
        connected = await self._connected(job, users) if job.attempt == 0 else frozenset[UserId]()
        asked = [user for user in users if user not in connected]
        outcomes = await gather_limited((self._send_one(batch, user) for user in asked), _MAX_CONCURRENT)
        by_user = dict(zip(asked, outcomes, strict=True))
        later = [user for user in users if by_user.get(user, AlertOutcome.LATER) is AlertOutcome.LATER]
        if later:
            delay_s = RETRY_AFTER_S[min(job.attempt, len(RETRY_AFTER_S) - 1)]
            starts_ms = self.clock.now_ms() + delay_s * 1000
            await self.jobs.start(job, chunk, later, starts_ms=starts_ms, attempt=job.attempt + 1)
        return [user for user, outcome in by_user.items() if outcome is AlertOutcome.FAILED]

    async def _connected(self, job: Job, users: Sequence[UserId]) -> frozenset[UserId]:
        """Return the users with a connected device. While Redis is unavailable, none: they are notified at once."""
        return frozenset((await self.routes.look_up(job.tenant, users)).found)

    async def _send_one(self, batch: ChannelBatch, user: UserId) -> AlertOutcome:
        inbox_key, content = batch.key_of(user), batch.content_of(user)
        counts = (await self.reader.repository.stored(inbox_key, 0)).counts
        reason = rules.skip_reason(content, batch.rows.get(user), counts, self.clock.now_ms())
        if reason is None and not batch.channels_of(user)[Channel.PUSH]:
            reason = SkipReason.CHANNEL_OFF
        message = {} if content is None or reason is not None else batch.message(content)
        texts = [str(message[name]) for name in _BODIES if message.get(name)]
        return await self.alerts.send(
            InboxAlert(
                inbox_key=inbox_key,
                notification=batch.content.id,
                sent_ms=batch.job.created_ms,
                expires_ms=None if content is None else content.expires_ms,
                title=str(message.get("title", "")),
                body=texts[0] if texts else "",
                is_critical=batch.is_critical,
                tries=batch.job.attempt,
                skip=reason,
            )
        )
