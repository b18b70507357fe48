"""What both kinds of sends begin with: the words are held against the inbox, the keys claimed, the content put."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from tidings.inboxes import message_schema
from tidings.inboxes.config import Inbox
from tidings.inboxes.config_service import InboxConfigCache
from tidings.inboxes.model import KeyClaim, KeyOrigin, NotificationContent, NotificationId
from tidings.inboxes.ports import ContentStore, InboxKeys, JobStarter, KeyClaims
from tidings.inboxes.queries import seal_location
from tidings.jobs.model import CHUNK_USERS, Job, JobId, JobKind
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId, encode_ulid, ulid_ms

LATEST_MS = 10**13 - 1
"""Keys have 13 digits for it."""
_encode = msgspec.json.Encoder(order="sorted").encode


class NotificationFields(Struct, frozen=True, kw_only=True):
    """What is to be sent. `host_system_id`: its name in the sender's system, once per inbox if `is_unique`."""

    message: Mapping[str, Any]
    category: str | None = None
    sender: str | None = None
    label: str | None = None
    host_system_id: str | None = None
    is_unique: bool = False
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
        """As wished, or as the inbox says."""
        lives_s = self.inbox.expires_after_s
        return self.request.expires_ms or (None if lives_s is None else self.sent_ms + lives_s * 1000)


class DraftService:
    """Every step may be repeated: a try with the same key goes on with the ids of the first."""

    def __init__(
        self,
        inboxes: InboxConfigCache,
        contents: ContentStore,
        claims: KeyClaims,
        *,
        keys: InboxKeys,
        clock: Clock,
    ) -> None:
        self._inboxes = inboxes
        self._contents = contents
        self._claims = claims
        self._keys = keys
        self._clock = clock

    async def make[W: NotificationFields](
        self, tenant: TenantId, inbox: str, wish: W, key: str | None
    ) -> NotificationDraft[W]:
        found = await self._inboxes.of(tenant, inbox)
        await self._check(tenant, found, wish)
        claim = await self._claim(tenant, found, wish)
        draft = NotificationDraft(tenant, found, wish, message_schema.encode_payload(wish.message), claim)
        if key is not None:
            draft = await self._claimed(draft, key)
        if wish.is_unique:
            await self._claim_host(draft)
        return draft

    async def put(
        self,
        draft: NotificationDraft[Any],
        *,
        count: int = 0,
        expires_ms: int | None = None,
        reach: str | None = None,
        is_tracked: bool = False,
    ) -> NotificationContent:
        """The same again changes nothing."""
        notification, wish, keys = draft.claim.notification, draft.request, await self._keys.of(draft.tenant)
        content = NotificationContent(
            id=notification,
            inbox=draft.inbox.id,
            category=draft.inbox.code_to_send(wish.category),
            version=1,
            sealed=keys.seal(seal_location(draft.tenant, notification), 1, draft.body),
            created_ms=draft.sent_ms,
            job=draft.claim.job,
            count=count,
            sender=wish.sender,
            label=wish.label,
            host_system_id=wish.host_system_id,
            expires_ms=expires_ms,
            reach=reach,
            is_tracked=is_tracked,
        )
        await self._contents.put(draft.tenant, content)
        return content

    async def _check(self, tenant: TenantId, inbox: Inbox, wish: NotificationFields) -> None:
        await message_schema.check_payload(tenant, inbox.schema, wish.message)
        inbox.code_to_send(wish.category)
        if wish.expires_ms is not None and not self._clock.now_ms() < wish.expires_ms <= LATEST_MS:
            raise TidingsError(Code.REQUEST_INVALID, "A notification expires in the future, and before 2286.")
        if wish.is_unique and wish.host_system_id is None:
            raise TidingsError(Code.REQUEST_INVALID, "There is no `host_system_id` to be unique.")

    async def _claim(self, tenant: TenantId, inbox: Inbox, wish: NotificationFields) -> KeyClaim:
        keys, now_ms = await self._keys.of(tenant), self._clock.now_ms()
        said = f"{tenant}#{inbox.id}#notification#".encode() + _encode(wish)
        return KeyClaim(
            notification=NotificationId(encode_ulid(now_ms, secrets.randbits(80))),
            job=encode_ulid(now_ms, secrets.randbits(80)),
            fingerprint=keys.fingerprint(said),
            at_ms=now_ms,
        )

    async def _claimed[W: NotificationFields](
        self, draft: NotificationDraft[W], key: str
    ) -> NotificationDraft[W]:
        """With the ids of the first try. Raises `idempotency_conflict` if that was another wish."""
        first = await self._claims.claim(draft.tenant, draft.inbox.id, KeyOrigin.KEY, key, draft.claim)
        if first is None:
            return draft
        if first.fingerprint != draft.claim.fingerprint:
            raise TidingsError(Code.IDEMPOTENCY_CONFLICT, "Something else was sent under this key.")
        return draft._replace(claim=first, is_repeat=True)

    async def _claim_host(self, draft: NotificationDraft[Any]) -> None:
        host = draft.request.host_system_id
        first = await self._claims.claim(draft.tenant, draft.inbox.id, KeyOrigin.HOST, host, draft.claim)
        if first is not None and first.notification != draft.claim.notification:
            raise TidingsError(
                Code.IDEMPOTENCY_CONFLICT,
                "There is a notification with this `host_system_id` in the inbox.",
                details={"notification_id": first.notification},
            )


MAX_USERS = 100_000


class SendNotificationRequest(NotificationFields, frozen=True, kw_only=True):
    """What is to be sent to whom."""

    user_ids: Sequence[UserId]


class SendNotificationResult(NamedTuple):
    """`is_new` False: this is the answer of an earlier try."""

    notification: NotificationId
    job: JobId
    total: int
    is_new: bool


class NotificationSender:
    def __init__(self, drafts: DraftService, jobs: JobStarter, clock: Clock) -> None:
        self._drafts = drafts
        self._jobs = jobs
        self._clock = clock

    async def __call__(
        self, tenant: TenantId, inbox: str, request: SendNotificationRequest, key: str | None = None
    ) -> SendNotificationResult:
        """Answered when all of it is committed: from then on it comes to every user, whoever dies."""
        users = list(dict.fromkeys(request.user_ids))
        if not 0 < len(users) <= MAX_USERS:
            raise TidingsError(Code.REQUEST_INVALID, f"A notification goes to 1 to {MAX_USERS} users.")
        draft = await self._drafts.make(tenant, inbox, request, key)
        await self._drafts.put(draft, count=len(users), expires_ms=draft.expires_ms)
        return await self._started(draft, users)

    async def _started(
        self, draft: NotificationDraft[SendNotificationRequest], users: Sequence[UserId]
    ) -> SendNotificationResult:
        claim = draft.claim
        job = JobId(claim.job)
        chunks = [users[at : at + CHUNK_USERS] for at in range(0, len(users), CHUNK_USERS)]
        await self._jobs.put_chunks(draft.tenant, job, chunks, draft.inbox.retention_days)
        is_new = await self._jobs.start(
            Job(
                tenant=draft.tenant,
                id=job,
                kind=JobKind.DELIVER,
                inbox=draft.inbox.id,
                notification=claim.notification,
                source=job,
                total=len(users),
                created_ms=self._clock.now_ms(),
            )
        )
        return SendNotificationResult(claim.notification, job, len(users), is_new)
