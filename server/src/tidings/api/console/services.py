"""Services and options of the console."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from tidings.accounts.api_keys import ApiKeyService
from tidings.accounts.sessions import SessionService
from tidings.accounts.signing_keys import SigningKeyService
from tidings.accounts.users import UserService
from tidings.api.request_parsing import CursorCipher
from tidings.api.services import ApiOptions, NotificationServices
from tidings.audit.log import AuditLog
from tidings.dead_letters.service import DeadLetters
from tidings.delivery.chat_list import ChatList
from tidings.ephemeral.model import Presence
from tidings.erasure.service import ErasureService
from tidings.exports.service import ExportService
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId
from tidings.kernel.token_bucket import TokenBucket
from tidings.messages.history import History
from tidings.moderation.content_filter import ContentRulesService
from tidings.moderation.reviews import ReviewService
from tidings.operators.doctor_runner import DoctorRunner
from tidings.operators.oidc import OidcLogin
from tidings.operators.process_monitor import ProcessMonitor
from tidings.operators.sessions import OperatorSessions
from tidings.search.switch import SearchSwitch
from tidings.tenants.settings import TenantReader, TenantService
from tidings.trace.lookup import MessageFinder, UserChatFinder
from tidings.trace.model import DeviceRoute, Trace
from tidings.webhooks.service import WebhookService

_MAX_ADDRESSES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleOptions(ApiOptions):
    """`public_url`: the address of the console in browsers. None: that of each request, for development."""

    public_url: str | None = None
    sign_in_name: str = ""

    @property
    def is_secure(self) -> bool:
        return (self.public_url or "").startswith("https://")

    @property
    def cookie_name(self) -> str:
        return "__Host-tidings_console" if self.is_secure else "tidings_console"

    @property
    def login_cookie_name(self) -> str:
        return f"{self.cookie_name}_login"


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportServices:
    """`presence` returns None, and `devices` raises `UnavailableError`, if Redis does not answer."""

    messages: MessageFinder
    chats: UserChatFinder
    history: History
    chat_list: ChatList
    presence: Callable[[TenantId, UserId], Awaitable[Presence | None]]
    devices: Callable[[TenantId, UserId], Awaitable[Sequence[DeviceRoute]]]
    trace: Callable[[TenantId, str, Sequence[UserId]], Awaitable[Trace]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleModeration:
    reviews: ReviewService
    content_rules: ContentRulesService


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleServices:
    """`exports` is None without a bucket."""

    sessions: OperatorSessions
    login: OidcLogin | None
    audit: AuditLog
    tenants: TenantReader
    tenant_admin: TenantService
    api_keys: ApiKeyService
    signing_keys: SigningKeyService
    users: UserService
    user_sessions: SessionService
    notifications: NotificationServices
    webhooks: WebhookService
    erasures: ErasureService
    exports: ExportService | None
    search: SearchSwitch
    support: SupportServices
    moderation: ConsoleModeration
    monitor: ProcessMonitor
    dead_letters: DeadLetters
    doctor: DoctorRunner
    settings: Sequence[tuple[str, str, str]]
    """Name, value and source of each setting, with secrets masked."""


class SignInLimits:
    """Limit failed sign-ins with a key, in this process and for each address: ten at once, then one in five seconds.

    For each address, because otherwise anyone could keep operators from signing in.
    """

    def __init__(self) -> None:
        self._failed: OrderedDict[str, TokenBucket] = OrderedDict()

    def check(self, address: str, now: float) -> None:
        """Raise `rate_limited` if too many sign-ins of the address have failed."""
        bucket = self._failed.get(address)
        if bucket is not None and not bucket.has_token(now):
            raise TidingsError(
                Code.RATE_LIMITED,
                "Too many failed sign-ins.",
                details={"retry_after_ms": bucket.retry_after_ms},
            )

    def add_failure(self, address: str, now: float) -> None:
        bucket = self._failed.setdefault(address, TokenBucket(per_s=0.2, burst=10, now=now))
        bucket.take_if_available(now)
        self._failed.move_to_end(address)
        if len(self._failed) > _MAX_ADDRESSES:
            self._failed.popitem(last=False)


@dataclass(frozen=True, slots=True)
class ConsoleContext:
    services: ConsoleServices
    options: ConsoleOptions
    cursors: CursorCipher
    sign_ins: SignInLimits = field(default_factory=SignInLimits)
