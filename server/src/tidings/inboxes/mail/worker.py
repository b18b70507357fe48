"""Send the mails of a chunk.

For each user: decide, claim, send, record. The claim keeps two workers from sending one mail. A worker that is killed
between sending and recording leaves a claim; after it ends, the mail is sent again with the same Message-ID. This is
the only case in which a user can receive a mail twice.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import msgspec

from tidings.accounts.model import EmailRefusal, User
from tidings.accounts.ports import UserStore
from tidings.inboxes.channels.ports import ChannelJobStarter
from tidings.inboxes.channels.reader import ChannelBatch, ChannelReader
from tidings.inboxes.mail import rendering, rules
from tidings.inboxes.mail.model import (
    MailConfig,
    MailReference,
    MailResult,
    MailStage,
    MailState,
    OutgoingMail,
)
from tidings.inboxes.mail.ports import MailResultStore, MailTransport
from tidings.inboxes.mail.service import MAIL_ID, UNSUBSCRIBE, MailConfigs
from tidings.inboxes.model import InboxKey, NotificationContent
from tidings.jobs.model import Job
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.failpoints import Failpoints
from tidings.kernel.ids import UserId
from tidings.kernel.mail_addresses import parse_mail_address

_OUTAGE_S = 30.0
"""How long nothing is sent after the mail server did not answer or refused the sender."""
_MARGIN_S = 10.0


@dataclass(slots=True)
class MailStats:
    """Counters of a process. `repeated`: mails of an earlier attempt. `deferred`: mails that are tried again later."""

    sent: int = 0
    skipped: int = 0
    deferred: int = 0
    failed: int = 0
    repeated: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MailOptions:
    """sender: the address in `From`, and in the envelope. public_url: the address of the API for links, without a path."""

    sender: str
    public_url: str
    timeout_s: float = 30.0
    max_concurrent: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class MailWorkerDeps:
    reader: ChannelReader
    users: UserStore
    results: MailResultStore
    configs: MailConfigs
    transport: MailTransport
    jobs: ChannelJobStarter
    clock: Clock
    failpoints: Failpoints


class _Outcome(Enum):
    """`CLAIMED`: another worker sends the mail, or has died while it did."""

    DONE = "done"
    CLAIMED = "claimed"
    LATER = "later"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """State that is read once for all users of a chunk."""

    common: ChannelBatch
    config: MailConfig
    results: Mapping[UserId, MailResult]
    users: Mapping[UserId, User]


class MailWorker:
    def __init__(self, deps: MailWorkerDeps, options: MailOptions, stats: MailStats) -> None:
        self._deps = deps
        self._options = options
        self._stats = stats
        self._claim_ms = round((2 * options.timeout_s + _MARGIN_S) * 1000)
        self._down_until = 0.0

    @property
    def is_down(self) -> bool:
        """Whether the mail server did not answer in the last 30 seconds, or refused the sender."""
        return self._deps.clock.monotonic() < self._down_until

    async def send(self, job: Job, chunk: int, users: Sequence[UserId]) -> Sequence[UserId]:
        """Send the mails of a chunk, and start a later job for those that could not be sent. Idempotent.

        Returns the users whose mail failed permanently. Raises a retryable error if an engine fails; then repeat it.
        """
        batch = await self._read(job, users)
        if batch is None:
            return ()
        outcomes = await gather_limited(
            (self._send_one(batch, user) for user in users), self._options.max_concurrent
        )
        waiting = (_Outcome.LATER, _Outcome.CLAIMED)
        later = [user for user, each in zip(users, outcomes, strict=True) if each in waiting]
        failed = [user for user, each in zip(users, outcomes, strict=True) if each is _Outcome.FAILED]
        if later:
            self._stats.deferred += len(later)
            delay_ms = self._claim_ms + 1_000
            if _Outcome.LATER in outcomes:
                spread = random.uniform(1, 1.25)  # noqa: S311 - no secret
                delay_ms = round(rules.RETRY_AFTER_S[job.attempt] * spread * 1000)
            starts_ms = self._deps.clock.now_ms() + delay_ms
            await self._deps.jobs.start(job, chunk, later, starts_ms=starts_ms, attempt=job.attempt + 1)
        return failed

    async def _read(self, job: Job, users: Sequence[UserId]) -> _Batch | None:
        deps, common = self._deps, await self._deps.reader.read(job, users)
        if common is None:
            return None
        return _Batch(
            common=common,
            config=await deps.configs.of(job.tenant, common.inbox.id),
            results=await deps.results.of(job.tenant, common.inbox.id, common.content.id, users),
            users=await deps.users.read_many(job.tenant, users),
        )

    async def _send_one(self, batch: _Batch, user: UserId) -> _Outcome:
        common, before, inbox_key = batch.common, batch.results.get(user), batch.common.key_of(user)
        if before is not None and before.is_final:
            self._stats.repeated += 1
            return _Outcome.FAILED if before.state is MailState.FAILED else _Outcome.DONE
        is_last = common.job.attempt >= len(rules.RETRY_AFTER_S)
        if self.is_down and not is_last:
            return _Outcome.LATER
        stored, now_ms = await self._deps.reader.repository.stored(inbox_key, 0), self._deps.clock.now_ms()
        content = common.content_of(user)
        result = MailResult(
            notification=common.content.id,
            state=MailState.SKIPPED,
            at_ms=now_ms,
            attempts=0 if before is None else before.attempts,
        )
        person, row = batch.users.get(user), common.rows.get(user)
        facts = rules.MailFacts(content, row, stored.counts, person, common.channels_of(user))
        reason = rules.skip_reason(facts, now_ms)
        if reason is not None or content is None or person is None or person.email is None:
            await self._deps.results.put(inbox_key, msgspec.structs.replace(result, reason=reason or ""))
            self._stats.skipped += 1
            return _Outcome.DONE
        try:
            mail = self._compose(batch, inbox_key, content, person, person.email)
        except Exception as error:  # noqa: BLE001 - `email` raises many types. Data of one user must not stop the others.
            return await self._fail(inbox_key, result, f"The mail cannot be composed: {error}")
        return await self._attempt(inbox_key, person, result, mail, is_last=is_last)

    async def _fail(self, inbox_key: InboxKey, result: MailResult, reason: str) -> _Outcome:
        failed = msgspec.structs.replace(result, state=MailState.FAILED, reason=reason[:256])
        await self._deps.results.put(inbox_key, failed)
        self._stats.failed += 1
        return _Outcome.FAILED

    async def _attempt(
        self, inbox_key: InboxKey, user: User, result: MailResult, mail: OutgoingMail, *, is_last: bool
    ) -> _Outcome:
        now_ms = self._deps.clock.now_ms()
        claimed = msgspec.structs.replace(
            result,
            state=MailState.SENDING,
            attempts=result.attempts + 1,
            until_ms=now_ms + self._claim_ms,
        )
        # Race: another worker sends this mail now, because the chunk moved to it or came twice. It holds the claim. The
        # later job finds its result, or sends the mail if that worker has died.
        if not await self._deps.results.claim(inbox_key, claimed, now_ms):
            return _Outcome.FAILED if is_last else _Outcome.CLAIMED
        answer = await self._deps.transport.send(mail)
        await self._deps.failpoints.hit("mail.sent")
        if answer.stage is MailStage.SERVER and not answer.is_accepted:
            self._down_until = self._deps.clock.monotonic() + _OUTAGE_S
        after = rules.after_answer(claimed, answer, self._deps.clock.now_ms(), is_last=is_last)
        await self._deps.results.put(inbox_key, after)
        if rules.is_unreachable(answer):
            await self._deps.users.refuse_email(
                inbox_key.tenant, user.user, EmailRefusal.BOUNCE, lambda address: address == user.email
            )
        if after.state is MailState.DEFERRED:
            return _Outcome.LATER
        if after.state is MailState.SENT:
            self._stats.sent += 1
            return _Outcome.DONE
        self._stats.failed += 1
        return _Outcome.FAILED

    def _compose(
        self, batch: _Batch, inbox_key: InboxKey, content: NotificationContent, user: User, address: str
    ) -> OutgoingMail:
        common = batch.common
        category = common.inbox.name_of(common.content.category)
        mac, row = common.keys.fingerprint, common.rows.get(user.user)
        link = None
        if not common.is_critical:
            reference = MailReference(inbox_key, category or "")
            token = rules.sign_reference(reference, UNSUBSCRIBE, mac)
            link = f"{self._options.public_url}/v1/email/unsubscribe?token={token}"
        fields = rendering.MailFields(
            message=common.message(content),
            category=category,
            name=user.display_name,
            gathered=max(row.gathered, 1) if row is not None else 1,
            unsubscribe_url=link,
        )
        template = rendering.choose_template(batch.config, category, user.locale)
        reference = MailReference(inbox_key, common.content.id, rules.address_hash(address, mac))
        name = rules.sign_reference(reference, MAIL_ID, mac)
        envelope = rendering.MailEnvelope(
            sender=self._options.sender,
            recipient=parse_mail_address(address),
            message_id=f"<{name}@{self._options.sender.rpartition('@')[2]}>",
            at_ms=self._deps.clock.now_ms(),
        )
        rendered = rendering.render(template, fields, user.locale)
        return OutgoingMail(
            envelope.sender,
            envelope.recipient.spec,
            rendering.compose(rendered, envelope, batch.config, link),
        )
