"""Services and options of the REST API."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from msgspec import Struct

from tidings.accounts.model import Principal
from tidings.accounts.phone_login import PhoneLogin
from tidings.accounts.ports import CredentialVerifier
from tidings.accounts.sessions import SessionService
from tidings.accounts.users import PhoneDirectory, UserService
from tidings.audit.log import AuditLog
from tidings.chats.commands import ChatCommands
from tidings.chats.joins import ChatJoins
from tidings.chats.member_jobs import MemberJobs
from tidings.chats.model import MemberStatus
from tidings.chats.moderation import ChatModeration
from tidings.chats.queries import ChatQueries
from tidings.delivery.chat_list import ChatList
from tidings.delivery.watermarks import MessageStatusReader, WatermarkService
from tidings.ephemeral.presence import PresenceQuery
from tidings.ephemeral.receipts import ChatRowNotifier
from tidings.erasure.service import ErasureService
from tidings.exports.service import ExportService
from tidings.inboxes.broadcasts.estimates import ReachEstimator
from tidings.inboxes.broadcasts.segments import ProfileService, SegmentService
from tidings.inboxes.broadcasts.service import BroadcastService
from tidings.inboxes.config_service import InboxConfigCache, InboxConfigService, InboxDefaultsService
from tidings.inboxes.mail.service import MailService
from tidings.inboxes.marker import InboxMarker
from tidings.inboxes.preference_service import PreferenceService
from tidings.inboxes.queries import InboxQueries
from tidings.inboxes.recall import RecallProofs, RecallService
from tidings.inboxes.sender import NotificationSender
from tidings.jobs.service import JobService
from tidings.kernel.ids import TenantId, UserId
from tidings.kernel.security import NO_ORIGINS, AllowedOrigins, Secret
from tidings.media.link_previews import LinkPreviewService
from tidings.media.service import MediaService
from tidings.messages.edits import MessageEdits
from tidings.messages.history import History, VisibleEntry
from tidings.messages.sender import MessageSender
from tidings.moderation.content_filter import ContentRulesService
from tidings.moderation.reviews import ReportService, ReviewService
from tidings.push.badge import BadgeReader
from tidings.push.ports import ResultStore
from tidings.push.preferences import PushPreferencesService
from tidings.push.providers_cache import PushProviders
from tidings.push.registrations import PushRegistrations
from tidings.search.query import MessageSearch
from tidings.webhooks.before_send import BeforeSendService
from tidings.webhooks.service import WebhookService

MIN_SECRET_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiOptions:
    """Options of the API.

    cursor_secrets: the first encrypts cursors and all decrypt them, so that a secret can be replaced. Must be the same in
        every process.
    docs_root: prefix of links to the pages of error codes.
    trust_traceparent: whether to continue traces of clients.
    allowed_origins: web pages that may call the API (CORS).
    serve_docs: whether `/docs` and `/openapi.json` are public.
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
            raise ValueError(f"a cursor secret needs at least {MIN_SECRET_BYTES} bytes")


class RateLimitState(Struct, frozen=True, kw_only=True):
    """State of the emptiest token bucket that a request took from. `policy` is its name."""

    policy: str
    limit: int
    remaining: int
    reset_s: int
    window_s: int
    is_allowed: bool = True
    retry_after_ms: int = 0


class ApiLimits:
    """Rate limits; these limit nothing. `None` as a result means that nothing is limited.

    Never raises while Redis is unavailable.
    """

    def is_blocked(self, address: str, /) -> RateLimitState | None:
        """Return the state of an address whose bucket for failed authentication is empty, from local memory."""

    async def admit(
        self, address: str, principal: Principal | None, user: UserId | None, /
    ) -> RateLimitState | None:
        """Take a token from each bucket of the request. Without a principal, only the address is charged."""

    async def charge(self, tenant: TenantId, user: UserId | None, tokens: int, /) -> RateLimitState | None:
        """Charge the tenant and `user` for the cost of a request beyond the request itself."""

    async def admit_chat(self, tenant: TenantId, user: UserId, /) -> RateLimitState | None:
        """Count a chat that `user` is about to create."""

    async def charge_look_up(self, tenant: TenantId, user: UserId, tokens: int, /) -> RateLimitState | None:
        """Charge a phone number that `user` looks up: `tokens` as in `charge`, and one from the user's daily bucket.

        Takes from all buckets or from none.
        """


type OnAnswered = Callable[[str, int], None]
"""Called with the route's path template (never the path itself) and the status."""


class ApiTelemetry:
    """Telemetry of requests; this one records nothing."""

    def request(self, method: str, traceparent: str | None, /) -> AbstractContextManager[OnAnswered]:
        """Open a span and metrics around one request. Pass `traceparent` only from a trusted client."""
        del method, traceparent
        return nullcontext(lambda _route, _status: None)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationServices:
    """`known` reads the configuration of inboxes through a cache, `inboxes` from the table."""

    inboxes: InboxConfigService
    defaults: InboxDefaultsService
    known: InboxConfigCache
    read: InboxQueries
    mark: InboxMarker
    preferences: PreferenceService
    sender: NotificationSender
    broadcast: BroadcastService
    reach: ReachEstimator
    segments: SegmentService
    profile_service: ProfileService
    recall: RecallService
    prove: RecallProofs
    jobs: JobService
    mail: MailService


@dataclass(frozen=True, slots=True, kw_only=True)
class PushServices:
    registrations: PushRegistrations
    preferences: PushPreferencesService
    providers: PushProviders
    results: ResultStore
    badge: BadgeReader


@dataclass(frozen=True, slots=True, kw_only=True)
class ModerationServices:
    chats: ChatModeration
    joins: ChatJoins
    content_rules: ContentRulesService
    reports: ReportService
    reviews: ReviewService


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaServices:
    uploads: MediaService
    link_previews: LinkPreviewService


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServices:
    credentials: CredentialVerifier
    chats: ChatCommands
    moderation: ModerationServices
    members: MemberJobs
    queries: ChatQueries
    sender: MessageSender[MemberStatus]
    change: MessageEdits[MemberStatus]
    history: History
    search: MessageSearch[VisibleEntry]
    chat_list: ChatList
    marking: WatermarkService
    statuses: MessageStatusReader
    visibility: PresenceQuery
    own_rows: ChatRowNotifier
    phone: PhoneLogin
    sessions: SessionService
    users: UserService
    erasures: ErasureService
    phone_directory: PhoneDirectory
    push: PushServices
    notifications: NotificationServices
    audit: AuditLog
    webhooks: WebhookService
    before_send: BeforeSendService
    media: MediaServices | None = None
    exports: ExportService | None = None
    limits: ApiLimits = field(default_factory=ApiLimits)
    telemetry: ApiTelemetry = field(default_factory=ApiTelemetry)
