"""Sends a notice to named users: content first, then the users in chunks, then the job; workers do the rest.

Every step may be repeated: a try with the same key goes on with the ids of the first, wherever that one died.
"""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from tidings.jobs.model import CHUNK_USERS, Job, JobId, JobKind
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId, encode_ulid, ulid_ms
from tidings.notices import payload
from tidings.notices.config import Inbox
from tidings.notices.inboxes import InboxReader
from tidings.notices.model import Claim, Content, NoticeId, Origin
from tidings.notices.ports import Claims, Contents, Jobs, Keys, SealingKeys
from tidings.notices.read import place_of

MAX_USERS = 100_000
LATEST_MS = 10**13 - 1
"""Keys have 13 digits for it."""
_encode = msgspec.json.Encoder(order="sorted").encode


class Wish(Struct, frozen=True, kw_only=True):
    """What is to be sent to whom. `host_system_id`: its name in the sender's system, once per inbox if `is_unique`."""

    uids: Sequence[UserId]
    message: Mapping[str, Any]
    category: str | None = None
    sender: str | None = None
    label: str | None = None
    host_system_id: str | None = None
    is_unique: bool = False
    expires_ms: int | None = None


class Sent(NamedTuple):
    """`is_new` False: this is the answer of an earlier try."""

    notice: NoticeId
    job: JobId
    total: int
    is_new: bool


class _Draft(NamedTuple):
    tenant: TenantId
    inbox: Inbox
    wish: Wish
    users: list[UserId]
    body: bytes
    claim: Claim


class SendNotice:
    def __init__(
        self,
        inboxes: InboxReader,
        contents: Contents,
        claims: Claims,
        *,
        jobs: Jobs,
        keys: Keys,
        clock: Clock,
    ) -> None:
        self._inboxes = inboxes
        self._contents = contents
        self._claims = claims
        self._jobs = jobs
        self._keys = keys
        self._clock = clock

    async def __call__(self, tenant: TenantId, inbox: str, wish: Wish, key: str | None = None) -> Sent:
        """Answered when all of it is committed: from then on it comes to every user, whoever dies."""
        found = await self._inboxes.of(tenant, inbox)
        keys = await self._keys.of(tenant)
        draft = self._draft(tenant, found, wish, keys)
        if key is not None:
            draft = await self._claimed(draft, Origin.KEY, key)
        if wish.is_unique:
            await self._claim_host(draft)
        await self._contents.put(tenant, _content(draft, keys))
        return await self._started(draft)

    def _draft(self, tenant: TenantId, inbox: Inbox, wish: Wish, keys: SealingKeys) -> _Draft:
        users = list(dict.fromkeys(wish.uids))
        if not 0 < len(users) <= MAX_USERS:
            raise TidingsError(Code.REQUEST_INVALID, f"A notice goes to 1 to {MAX_USERS} users.")
        payload.check_message(inbox.schema, wish.message)
        inbox.code_to_send(wish.category)
        if wish.expires_ms is not None and not self._clock.now_ms() < wish.expires_ms <= LATEST_MS:
            raise TidingsError(Code.REQUEST_INVALID, "A notice expires in the future, and before 2286.")
        said = f"{tenant}#{inbox.id}#notice#".encode() + _encode(wish)
        now_ms = self._clock.now_ms()
        claim = Claim(
            notice=NoticeId(encode_ulid(now_ms, secrets.randbits(80))),
            job=encode_ulid(now_ms, secrets.randbits(80)),
            fingerprint=keys.fingerprint(said),
            at_ms=now_ms,
        )
        return _Draft(tenant, inbox, wish, users, payload.encode(wish.message), claim)

    async def _claimed(self, draft: _Draft, origin: Origin, key: str) -> _Draft:
        """With the ids of the first try. Raises `key_conflict` if that was another wish."""
        first = await self._claims.claim(draft.tenant, draft.inbox.id, origin, key, draft.claim)
        if first is None:
            return draft
        if first.fingerprint != draft.claim.fingerprint:
            raise TidingsError(Code.KEY_CONFLICT, "Something else was sent under this key.")
        return draft._replace(claim=first)

    async def _claim_host(self, draft: _Draft) -> None:
        if draft.wish.host_system_id is None:
            raise TidingsError(Code.REQUEST_INVALID, "There is no `host_system_id` to be unique.")
        host = draft.wish.host_system_id
        first = await self._claims.claim(draft.tenant, draft.inbox.id, Origin.HOST, host, draft.claim)
        if first is not None and first.notice != draft.claim.notice:
            raise TidingsError(
                Code.KEY_CONFLICT,
                "There is a notice with this `host_system_id` in the inbox.",
                details={"notice_id": first.notice},
            )

    async def _started(self, draft: _Draft) -> Sent:
        claim, users = draft.claim, draft.users
        job = JobId(claim.job)
        chunks = [users[at : at + CHUNK_USERS] for at in range(0, len(users), CHUNK_USERS)]
        await self._jobs.put_chunks(draft.tenant, job, chunks, draft.inbox.retention_days)
        is_new = await self._jobs.start(
            Job(
                tenant=draft.tenant,
                id=job,
                kind=JobKind.DELIVER,
                inbox=draft.inbox.id,
                notice=claim.notice,
                source=job,
                total=len(users),
                created_ms=self._clock.now_ms(),
            )
        )
        return Sent(claim.notice, job, len(users), is_new)


def _content(draft: _Draft, keys: SealingKeys) -> Content:
    notice, wish = draft.claim.notice, draft.wish
    created_ms = ulid_ms(notice)
    return Content(
        id=notice,
        inbox=draft.inbox.id,
        category=draft.inbox.code_to_send(wish.category),
        version=1,
        sealed=keys.seal(place_of(draft.tenant, notice), 1, draft.body),
        created_ms=created_ms,
        job=draft.claim.job,
        count=len(draft.users),
        sender=wish.sender,
        label=wish.label,
        host_system_id=wish.host_system_id,
        expires_ms=wish.expires_ms or _default_expiry(draft.inbox, created_ms),
    )


def _default_expiry(inbox: Inbox, created_ms: int) -> int | None:
    return None if inbox.expires_after_s is None else created_ms + inbox.expires_after_s * 1000
