"""What the edge is set up with. Settings are read elsewhere."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

from tidings.accounts.model import Principal
from tidings.accounts.phone_login import PhoneLogin
from tidings.accounts.sessions import SessionService
from tidings.accounts.users import FindUserByPhone, UserService
from tidings.chats.commands import ChatCommands
from tidings.chats.model import MemberStatus
from tidings.chats.queries import ChatQueries
from tidings.delivery.chat_list import ChatList
from tidings.delivery.watermarks import MessageStatusReader, WatermarkService
from tidings.ephemeral.presence import PresenceQuery
from tidings.ephemeral.receipts import ChatRowNotifier
from tidings.inboxes.broadcasts.segments import ProfileService, SegmentService
from tidings.inboxes.broadcasts.service import BroadcastService
from tidings.inboxes.broadcasts.targeting import ReachEstimator
from tidings.inboxes.config_service import InboxConfigCache, InboxConfigService, InboxDefaultsService
from tidings.inboxes.marker import InboxMarker
from tidings.inboxes.queries import InboxQueries
from tidings.inboxes.recall import RecallProofs, RecallService
from tidings.inboxes.sender import NotificationSender
from tidings.jobs.service import JobService
from tidings.kernel.ids import ChatKey, ClientKey, TenantId, UserId
from tidings.kernel.security import NO_ORIGINS, AllowedOrigins, Secret
from tidings.messages.edits import MessageEdits
from tidings.messages.history import History
from tidings.messages.sender import Content, SendResult

MIN_SECRET_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiOptions:
    """`cursor_secrets`: the first signs, all verify, so that a secret can be replaced. The same in every process.

    `docs_root` is put before the links to the pages of error codes. `trust_traceparent`: traces of callers are gone on with.
    `allowed_origins`: web pages that may call. `serve_docs`: `/docs` and `/openapi.json` are open to all.
    """

    cursor_secrets: tuple[Secret, ...]
    max_body_bytes: int = 64 * 1024
    max_body_depth: int = 16
    max_body_values: int = 4_000
    docs_root: str = "/"
    trust_traceparent: bool = False
    allowed_origins: AllowedOrigins = NO_ORIGINS
    serve_docs: bool = True

    def __post_init__(self) -> None:
        if not self.cursor_secrets or any(
            len(secret.reveal().encode()) < MIN_SECRET_BYTES for secret in self.cursor_secrets
        ):
            raise ValueError(f"cursors are signed with secrets of at least {MIN_SECRET_BYTES} bytes")


class ApiCredentials(Protocol):
    async def verify(self, bearer: str, /) -> Principal:
        """Raises `credential_invalid` or `credential_expired`; does not tell why."""
        ...


class MessageSending(Protocol):
    """`messages.send`, and whatever is done with each committed message."""

    async def __call__(
        self,
        chat: ChatKey,
        sender: UserId,
        client_key: ClientKey,
        content: Content,
        *,
        after: int | None = None,
        content_type: str | None = None,
        ttl_s: int | None = None,
    ) -> SendResult: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimitState:
    """What is left in the bucket that is nearest to its end. `policy` is its name."""

    policy: str
    limit: int
    remaining: int
    reset_s: int
    window_s: int
    is_allowed: bool = True
    retry_after_ms: int = 0


class ApiLimits(Protocol):
    def is_blocked(self, address: str, /) -> RateLimitState | None:
        """Of an address that nothing is known of: is it in vain to ask for it? Known here, without waiting."""
        ...

    async def admit(
        self, address: str, principal: Principal | None, user: UserId | None, /
    ) -> RateLimitState | None:
        """Takes one from each bucket. Without a principal: an address that nothing is known of.

        None: nothing is limited. Never raises for an engine that is away.
        """
        ...

    async def charge(self, tenant: TenantId, user: UserId | None, tokens: int, /) -> RateLimitState | None:
        """Take `tokens` for what a request costs beyond the request itself, from the tenant and from `user`."""
        ...

    async def admit_chat(self, tenant: TenantId, user: UserId, /) -> RateLimitState | None:
        """Count a chat that `user` is about to create."""
        ...

    async def charge_look_up(self, tenant: TenantId, user: UserId, tokens: int, /) -> RateLimitState | None:
        """Charge a phone number that `user` looks up: `tokens` as `charge` does, and one from the user's daily bucket.

        Takes from all buckets or from none.
        """
        ...


class RequestTelemetry(Protocol):
    def answered(self, route: str, status: int, /) -> None:
        """`route` is the template of the address, never the address itself."""
        ...


class ApiTelemetry(Protocol):
    def request(self, method: str, traceparent: str | None, /) -> AbstractContextManager[RequestTelemetry]:
        """A span and its metrics around one request. `traceparent` only where the outside is trusted."""
        ...


class NoApiLimits:
    def is_blocked(self, address: str, /) -> None:
        del address

    async def admit(self, address: str, principal: Principal | None, user: UserId | None, /) -> None:
        del address, principal, user

    async def charge(self, tenant: TenantId, user: UserId | None, tokens: int, /) -> None:
        del tenant, user, tokens

    async def admit_chat(self, tenant: TenantId, user: UserId, /) -> None:
        del tenant, user

    async def charge_look_up(self, tenant: TenantId, user: UserId, tokens: int, /) -> None:
        del tenant, user, tokens


class _Nothing:
    def answered(self, route: str, status: int, /) -> None:
        del route, status


class NoApiTelemetry:
    def request(self, method: str, traceparent: str | None, /) -> AbstractContextManager[RequestTelemetry]:
        del method, traceparent
        return _NOTHING


_NOTHING: AbstractContextManager[RequestTelemetry] = nullcontext(_Nothing())


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationServices:
    """`known` reads inboxes through a cache, `inboxes` as they stand."""

    inboxes: InboxConfigService
    defaults: InboxDefaultsService
    known: InboxConfigCache
    read: InboxQueries
    mark: InboxMarker
    sender: NotificationSender
    broadcast: BroadcastService
    reach: ReachEstimator
    segments: SegmentService
    profile_service: ProfileService
    recall: RecallService
    prove: RecallProofs
    jobs: JobService


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServices:
    credentials: ApiCredentials
    chats: ChatCommands
    queries: ChatQueries
    send: MessageSending
    change: MessageEdits[MemberStatus]
    history: History
    chat_list: ChatList
    marking: WatermarkService
    statuses: MessageStatusReader
    visibility: PresenceQuery
    own_rows: ChatRowNotifier
    phone: PhoneLogin
    sessions: SessionService
    users: UserService
    find_by_phone: FindUserByPhone
    notifications: NotificationServices
    limits: ApiLimits = field(default_factory=NoApiLimits)
    telemetry: ApiTelemetry = field(default_factory=NoApiTelemetry)
