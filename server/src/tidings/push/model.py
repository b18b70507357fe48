"""Registrations of devices, preferences, decisions and results of push notifications."""

from enum import StrEnum
from typing import Annotated, Literal, NamedTuple
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from tidings.accounts.model import SessionId
from tidings.delivery.model import NotifyMode, OfflineMessage
from tidings.inboxes.model import InboxId, NotificationId
from tidings.kernel.ids import ChatId, DeviceId, TenantId, UserId


class PushKind(StrEnum):
    """The kinds of providers."""

    APNS = "apns"
    FCM = "fcm"
    WEB_PUSH = "web_push"
    HTTP = "http"


type ApnsEnvironment = Literal["production", "sandbox"]
type Token = Annotated[str, Meta(min_length=1, max_length=2048, pattern=r"^[!-~]+$")]


class ApnsTarget(Struct, frozen=True, kw_only=True, tag="apns", tag_field="kind"):
    """A device token of Apple's service. `topic`: the bundle id of the app."""

    token: Annotated[str, Meta(min_length=64, max_length=200, pattern=r"^[0-9a-f]+$")]
    topic: Annotated[str, Meta(min_length=1, max_length=155, pattern=r"^[A-Za-z0-9.-]+$")]
    environment: ApnsEnvironment = "production"


class FcmTarget(Struct, frozen=True, kw_only=True, tag="fcm", tag_field="kind"):
    """A registration token of Firebase Cloud Messaging."""

    token: Token


class WebPushTarget(Struct, frozen=True, kw_only=True, tag="web_push", tag_field="kind"):
    """A subscription of a browser. `p256dh` and `auth` are the browser's keys, in URL-safe base64 (RFC 8291).

    `server_key`: the public key that the browser subscribed with; only its private key may send. None: the newest.
    """

    endpoint: Annotated[str, Meta(min_length=1, max_length=2048, pattern=r"^https?://[!-~]+$")]
    p256dh: Annotated[str, Meta(min_length=87, max_length=88, pattern=r"^[A-Za-z0-9_-]+=?$")]
    auth: Annotated[str, Meta(min_length=22, max_length=24, pattern=r"^[A-Za-z0-9_-]+={0,2}$")]
    server_key: Annotated[str, Meta(max_length=88)] | None = None

    @property
    def service(self) -> str:
        """The host and port of the push service; empty if the endpoint is not a valid URL."""
        try:
            return urlsplit(self.endpoint).netloc
        except ValueError:
            return ""


class HttpTarget(Struct, frozen=True, kw_only=True, tag="http", tag_field="kind"):
    """A token of the tenant's own push service."""

    token: Token


type PushTarget = ApnsTarget | FcmTarget | WebPushTarget | HttpTarget


def kind_of(target: PushTarget) -> PushKind:
    match target:
        case ApnsTarget():
            return PushKind.APNS
        case FcmTarget():
            return PushKind.FCM
        case WebPushTarget():
            return PushKind.WEB_PUSH
        case HttpTarget():
            return PushKind.HTTP


def token_identity(target: PushTarget) -> bytes:
    """Return what identifies the installation at its provider. Two targets of one installation have the same identity."""
    address = target.endpoint if isinstance(target, WebPushTarget) else target.token
    return f"{kind_of(target)} {address}".encode()


class PushRegistration(Struct, frozen=True, kw_only=True):
    """Where the push notifications of a device are sent.

    session: the login that registered it, if there was one. The registration ends with it.
    is_data_only: notifications have no text. The app receives the ids, and fetches or decrypts the content itself.
    """

    tenant: TenantId
    user: UserId
    device: DeviceId
    target: PushTarget
    session: SessionId | None = None
    locale: str = ""
    is_data_only: bool = False
    registered_ms: int


type DayMinute = Annotated[int, Meta(ge=0, le=24 * 60 - 1)]


class QuietHours(Struct, frozen=True, kw_only=True):
    """Local times of day, in minutes after midnight, between which a user is not notified.

    The start is included, the end is not. An end before the start lies on the next day; an equal one makes the hours
    empty. `days`: the weekdays on which the hours start, 0 for Monday.
    """

    start: DayMinute
    end: DayMinute
    days: Annotated[tuple[Annotated[int, Meta(ge=0, le=6)], ...], Meta(max_length=7)] = (0, 1, 2, 3, 4, 5, 6)


class PushPreferences(Struct, frozen=True, kw_only=True):
    """A user's preferences. `notify` applies to chats without a choice of their own."""

    notify: NotifyMode = "all"
    time_zone: Annotated[str, Meta(min_length=1, max_length=64)] = "UTC"
    quiet_hours: QuietHours | None = None


class PushAction(StrEnum):
    """ALERT: show a notification with a sound. UPDATE: replace the shown one silently. NONE: send nothing.
    WITHDRAW: remove the shown one, because the user has read the chat on another device.
    """

    ALERT = "alert"
    UPDATE = "update"
    WITHDRAW = "withdraw"
    NONE = "none"


class SkipReason(StrEnum):
    """Why no notification is sent."""

    READ = "read"
    DELIVERED = "delivered"
    LEFT_CHAT = "left_chat"
    REDACTED = "redacted"
    TOO_OLD = "too_old"
    MUTED = "muted"
    NOTIFY_NONE = "notify_none"
    NOT_MENTIONED = "not_mentioned"
    QUIET_HOURS = "quiet_hours"
    NEWER_MESSAGE = "newer_message"
    NO_DEVICE = "no_device"
    ACCOUNT_SUSPENDED = "account_suspended"


class PushDecision(NamedTuple):
    """`detail` is one sentence for people, set for `NONE`."""

    action: PushAction
    reason: SkipReason | None = None
    detail: str = ""


class ShownAlert(Struct, frozen=True, kw_only=True):
    """The notification that a chat shows: its newest message, and the last one that made a sound."""

    sequence: int
    alerted_sequence: int
    alerted_ms: int
    withdrawn: int = 0
    """Notifications up to this sequence were withdrawn."""


class PushRead(Struct, frozen=True, kw_only=True):
    """A user has read a chat up to a sequence. Published for tenants with push providers only."""

    tenant: TenantId
    user: UserId
    chat: ChatId
    sequence: Annotated[int, Meta(ge=1)]


class MessageState(Struct, frozen=True, kw_only=True):
    """The state of a message and its recipient when the decision is made, read after the event.

    read_ms: when the recipient marked the message as read, if known.
    """

    chat: ChatId
    sequence: int
    sent_ms: int
    is_mentioned: bool
    is_member: bool = True
    is_redacted: bool = False
    read_up_to: int = 0
    delivered_up_to: int = 0
    read_ms: int | None = None
    muted_until_ms: int | None = None
    notify: NotifyMode | None = None
    is_suspended: bool = False


class PushPolicy(Struct, frozen=True, kw_only=True):
    """Limits of a tenant. No notification is sent for messages older than `max_age_s`."""

    max_age_s: int = 3_600
    collapse_window_s: int = 10


class PushOutcome(StrEnum):
    """SENT: the provider accepted it. RETRYING: another attempt follows. GONE: the token is invalid and was removed.
    FAILED: given up, and a dead letter was written. SKIPPED: nothing was sent, for the stated reason.
    """

    SENT = "sent"
    RETRYING = "retrying"
    GONE = "gone"
    FAILED = "failed"
    SKIPPED = "skipped"


class PushAttempt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One request to a provider and its answer. `status` is 0 if there was none."""

    at_ms: int
    action: PushAction
    status: int
    answer: str = ""
    provider_id: str = ""


class PushResult(Struct, frozen=True, kw_only=True):
    """What happened to the push notifications of one message, for one device or (`device` None) for a recipient.

    For a notification of an inbox, `inbox` and `notification` are set instead of `chat` and `sequence`.
    """

    tenant: TenantId
    chat: ChatId = ChatId("")
    sequence: int = 0
    inbox: InboxId | None = None
    notification: NotificationId | None = None
    user: UserId
    device: DeviceId | None
    outcome: PushOutcome
    decided_ms: int
    reason: str = ""
    provider: PushKind | None = None
    collapse_id: str = ""
    attempts: tuple[PushAttempt, ...] = ()


class PushTask(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message to notify a user of. `devices`: only these, after a failed attempt; empty: all.

    tries: attempts so far. due_ms: not before this time. at_ms: when the task was published for another attempt.
    """

    event: OfflineMessage
    devices: tuple[DeviceId, ...] = ()
    tries: int = 0
    due_ms: int = 0
    at_ms: int = 0
