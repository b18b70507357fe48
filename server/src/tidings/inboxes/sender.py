"""Send a notification to named users.

`DraftService` has the steps that direct notifications and broadcasts share: validate the message, claim the
idempotency key, store the content.
"""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from tidings.inboxes import message_schema
from tidings.inboxes.config import Inbox
from tidings.inboxes.config_service import InboxConfigCache
from tidings.inboxes.model import KeyClaim, KeyOrigin, NotificationContent, NotificationId
from tidings.inboxes.ports import ContentStore
from tidings.inboxes.queries import seal_location
from tidings.jobs.model import CHUNK_USERS, Job, JobId, JobKind
from tidings.jobs.ports import JobStarter
from tidings.kernel.action_notes import note_change
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId, encode_ulid, ulid_ms
from tidings.tenants.model import SealingKeyProvider

LATEST_MS = 10**13 - 1
"""Sort keys have 13 digits for a time."""
_encode = msgspec.json.Encoder(order="sorted").encode


class NotificationFields(Struct, frozen=True, kw_only=True):
    """`host_system_id` is the notification's name in the sender's system, unique in the inbox if `is_unique`.

    `is_critical`: it takes the channels that the tenant has set, whatever users have chosen.
    """

    message: Mapping[str, Any]
    category: str | None = None
    sender: str | None = None
    label: str | None = None
    host_system_id: str | None = None
    is_unique: bool = False
    is_critical: bool = False
    expires_ms: int | None = None


class NotificationDraft[W: NotificationFields](NamedTuple):
    tenant: TenantId
    inbox: Inbox
    request: W
    body: bytes
    claim: KeyClaim
    is_repeat: bool = False

    @property
    def sent_ms(self) -> int:
        return ulid_ms(self.claim.notification)

    @property
    def expires_ms(self) -> int | None:
        """The requested expiry, or that of the inbox."""
        lives_s = self.inbox.expires_after_s
        return self.request.expires_ms or (None if lives_s is None else self.sent_ms + lives_s * 1000)


class DraftService:
    """Prepares a send. Every step is idempotent: an attempt with the same key continues with the ids of the first."""

    def __init__(
        self,
        inboxes: InboxConfigCache,
        contents: ContentStore,
        *,
        keys: SealingKeyProvider,
        clock: Clock,
    ) -> None:
        self._inboxes = inboxes
        self._contents = contents
        self._keys = keys
        self._clock = clock

    async def make[W: NotificationFields](
        self, tenant: TenantId, inbox: str, request: W, key: str | None
    ) -> NotificationDraft[W]:
        """Validate the request and claim its keys.

        Raises `content_invalid`, `request_invalid`, or `idempotency_conflict` if a key belongs to another request.
        """
        found = await self._inboxes.of(tenant, inbox)
        await self._check(tenant, found, request)
        claim = await self._new_claim(tenant, found, request)
        draft = NotificationDraft(
            tenant, found, request, message_schema.encode_payload(request.message), claim
        )
        if key is not None:
            draft = await self._claim_key(draft, key)
        if request.is_unique:
            await self._claim_host_id(draft)
        return draft

    async def put(
        self,
        draft: NotificationDraft[Any],
        *,
        count: int = 0,
        expires_ms: int | None = None,
        reach: str | None = None,
        is_tracked: bool = False,
        digest_key: str | None = None,
    ) -> NotificationContent:
        """Store the content of a draft. Idempotent."""
        notification, request = draft.claim.notification, draft.request
        keys = await self._keys.of(draft.tenant)
        content = NotificationContent(
            id=notification,
            inbox=draft.inbox.id,
            category=draft.inbox.code_to_send(request.category),
            version=1,
            sealed=keys.seal(seal_location(draft.tenant, notification), 1, draft.body),
            created_ms=draft.sent_ms,
            job=draft.claim.job,
            count=count,
            sender=request.sender,
            label=request.label,
            host_system_id=request.host_system_id,
            expires_ms=expires_ms,
            reach=reach,
            is_tracked=is_tracked,
            is_critical=request.is_critical,
            digest_key=digest_key,
        )
        await self._contents.put(draft.tenant, content)
        return content

    async def _check(self, tenant: TenantId, inbox: Inbox, request: NotificationFields) -> None:
        await message_schema.check_payload(tenant, inbox.schema, request.message)
        inbox.code_to_send(request.category)
        if request.expires_ms is not None and not self._clock.now_ms() < request.expires_ms <= LATEST_MS:
            raise TidingsError(Code.REQUEST_INVALID, "The expiry must be in the future and before 2286.")
        if request.is_unique and request.host_system_id is None:
            raise TidingsError(Code.REQUEST_INVALID, "`host_system_id` is missing, but must be unique.")

    async def _new_claim(self, tenant: TenantId, inbox: Inbox, request: NotificationFields) -> KeyClaim:
        keys, now_ms = await self._keys.of(tenant), self._clock.now_ms()
        text = f"{tenant}#{inbox.id}#notification#".encode() + _encode(request)
        return KeyClaim(
            notification=NotificationId(encode_ulid(now_ms, secrets.randbits(80))),
            job=encode_ulid(now_ms, secrets.randbits(80)),
            fingerprint=keys.fingerprint(text),
            at_ms=now_ms,
        )

    async def _claim_key[W: NotificationFields](
        self, draft: NotificationDraft[W], key: str
    ) -> NotificationDraft[W]:
        """Return the draft with the ids of the first attempt. Raises `idempotency_conflict` for another request."""
        first = await self._contents.claim(draft.tenant, draft.inbox.id, KeyOrigin.KEY, key, draft.claim)
        if first is None:
            return draft
        if first.fingerprint != draft.claim.fingerprint:
            raise TidingsError(
                Code.IDEMPOTENCY_CONFLICT,
                "This idempotency key was already used for another request. Use a new key.",
            )
        return draft._replace(claim=first, is_repeat=True)

    async def _claim_host_id(self, draft: NotificationDraft[Any]) -> None:
        host = draft.request.host_system_id
        first = await self._contents.claim(draft.tenant, draft.inbox.id, KeyOrigin.HOST, host, draft.claim)
        if first is not None and first.notification != draft.claim.notification:
            raise TidingsError(
                Code.IDEMPOTENCY_CONFLICT,
                f"The inbox already has a notification with `host_system_id` {host!r}.",
                details={"notification_id": first.notification},
            )


MAX_USERS = 100_000


class SendNotificationRequest(NotificationFields, frozen=True, kw_only=True):
    """`digest_key`: which notifications of the category are gathered, if the category has a digest."""

    user_ids: Sequence[UserId]
    digest_key: str | None = None


class SendNotificationResult(NamedTuple):
    """`is_new` False: an earlier attempt created it."""

    notification: NotificationId
    job: JobId
    total: int
    is_new: bool


class NotificationSender:
    def __init__(self, drafts: DraftService, jobs: JobStarter, clock: Clock) -> None:
        self._drafts = drafts
        self._jobs = jobs
        self._clock = clock

    async def send(
        self, tenant: TenantId, inbox: str, request: SendNotificationRequest, key: str | None = None
    ) -> SendNotificationResult:
        """Send a notification. After the return it will be delivered to every user, even if processes fail.

        Idempotent if `key` is given. Raises `request_invalid` and the errors of `DraftService.make`.
        """
        users = list(dict.fromkeys(request.user_ids))
        if not 0 < len(users) <= MAX_USERS:
            raise TidingsError(Code.REQUEST_INVALID, f"Send to 1 to {MAX_USERS} users at a time.")
        draft = await self._drafts.make(tenant, inbox, request, key)
        await self._drafts.put(
            draft, count=len(users), expires_ms=draft.expires_ms, digest_key=request.digest_key
        )
        return await self._start(draft, users)

    async def _start(
        self, draft: NotificationDraft[SendNotificationRequest], users: Sequence[UserId]
    ) -> SendNotificationResult:
        claim = draft.claim
        id_ = JobId(claim.job)
        chunks = [users[at : at + CHUNK_USERS] for at in range(0, len(users), CHUNK_USERS)]
        job = Job(
            tenant=draft.tenant,
            id=id_,
            kind=JobKind.DELIVER,
            inbox=draft.inbox.id,
            notification=claim.notification,
            source=id_,
            total=len(users),
            created_ms=self._clock.now_ms(),
        )
        await self._jobs.put_chunks(job, chunks, draft.inbox.retention_days)
        is_new = await self._jobs.start(job)
        note_change(None, {"notification": claim.notification, "job": id_, "recipients": len(users)})
        return SendNotificationResult(claim.notification, id_, len(users), is_new)
