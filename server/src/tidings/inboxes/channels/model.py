"""Why a channel sends nothing, and the alerts of the channel `push`."""

from enum import Enum, StrEnum

from msgspec import Struct

from tidings.inboxes.model import InboxKey, NotificationId


class SkipReason(StrEnum):
    """Why a channel sends nothing to a user."""

    CHANNEL_OFF = "channel_off"
    NO_ADDRESS = "no_address"
    ADDRESS_REFUSED = "address_refused"
    SUSPENDED = "suspended"
    READ = "read"
    RECALLED = "recalled"
    EXPIRED = "expired"
    THROTTLED = "throttled"
    DIGESTED = "digested"
    NOT_DELIVERED = "not_delivered"


class InboxAlert(Struct, frozen=True, kw_only=True):
    """A notification for the devices of one user. `skip`: why it is not sent; then only the reason is recorded.

    title, body: of the message, as the app sent it. is_critical: also in quiet hours. tries: earlier attempts.
    """

    inbox_key: InboxKey
    notification: NotificationId
    sent_ms: int
    expires_ms: int | None = None
    title: str = ""
    body: str = ""
    is_critical: bool = False
    tries: int = 0
    skip: SkipReason | None = None


class AlertOutcome(Enum):
    """`LATER`: a push provider did not accept it yet. `FAILED`: given up."""

    DONE = "done"
    LATER = "later"
    FAILED = "failed"
