"""Reports of users about messages and users, and the reviews that gather them."""

from enum import StrEnum
from typing import Final, NamedTuple

from msgspec import Struct

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, MessageId, TenantId, UserId, message_id, split_message_id
from tidings.schema.tables.items.moderation import (
    CONTENT_RULE,
    MESSAGE_REVIEW,
    OPEN,
    REVIEW_RETENTION_S,
    WAITING,
)

MAX_REPORT_CHARS: Final = 200
RETENTION_S: Final = REVIEW_RETENTION_S
_MESSAGE, _USER = MESSAGE_REVIEW, "u."


class ReportReason(StrEnum):
    SPAM = "spam"
    ABUSE = "abuse"
    VIOLENCE = "violence"
    SEXUAL = "sexual"
    ILLEGAL = "illegal"
    OTHER = "other"
    CONTENT_RULE = CONTENT_RULE
    """The message contains a word or a domain that the tenant's lists flag. No user reported it."""


class ReviewState(StrEnum):
    OPEN = OPEN
    APPLYING = "applying"
    """A decision was recorded, and has not been carried out completely."""
    DECIDED = "decided"


class ReviewAction(StrEnum):
    DISMISS = "dismiss"
    REDACT = "redact"
    MUTE = "mute"
    BAN = "ban"
    SUSPEND = "suspend"


class ReviewQueue(StrEnum):
    """The lists of a tenant: reviews that wait for a moderator, and those that are decided."""

    WAITING = WAITING
    DECIDED = "decided"


class ReviewTarget(NamedTuple):
    """A message or a user of a tenant. `id` is that of the review: the kind and the id of the target."""

    tenant: TenantId
    id: str

    @property
    def message(self) -> tuple[ChatKey, int] | None:
        """Return the place of the message; None for a user."""
        if not self.id.startswith(_MESSAGE):
            return None
        place = split_message_id(MessageId(self.id.removeprefix(_MESSAGE)))
        return None if place is None else (ChatKey(self.tenant, place[0]), place[1])

    @property
    def user(self) -> UserId | None:
        """Return the reported user; None for a message."""
        return UserId(self.id.removeprefix(_USER)) if self.id.startswith(_USER) else None


def message_target(chat: ChatKey, sequence: int) -> ReviewTarget:
    return ReviewTarget(chat.tenant, _MESSAGE + message_id(chat.chat, sequence))


def user_target(tenant: TenantId, user: UserId) -> ReviewTarget:
    return ReviewTarget(tenant, _USER + user)


class Decision(Struct, frozen=True, kw_only=True):
    """What a moderator decided. `id` is the idempotency key of everything that it changes.

    by: the operator or API key.
    until_ms: the end of a mute or ban; None for no end. reason: as members see it.
    """

    id: str
    action: ReviewAction
    by: str
    at_ms: int
    until_ms: int | None = None
    reason: str | None = None

    def asks_for_the_same(self, other: "Decision") -> bool:
        return (self.action, self.until_ms, self.reason) == (other.action, other.until_ms, other.reason)


class Report(Struct, frozen=True, kw_only=True):
    """What one user reported. `text` is None without one, and after the reporter was erased."""

    reporter: UserId
    reason: ReportReason
    at_ms: int
    text: str | None = None


class Review(Struct, frozen=True, kw_only=True):
    """All reports about one target. `author` wrote the message, or is the reported user.

    opened_ms: when the first report since the last decision arrived; the order of the queue.
    """

    target: ReviewTarget
    state: ReviewState
    author: UserId
    count: int
    reasons: frozenset[ReportReason]
    opened_ms: int
    reported_ms: int
    decision: Decision | None = None

    @property
    def queue(self) -> ReviewQueue:
        return ReviewQueue.DECIDED if self.state is ReviewState.DECIDED else ReviewQueue.WAITING


class ReviewPage(NamedTuple):
    """`last`: where the next page starts; None at the end."""

    reviews: list[Review]
    last: str | None


def review_not_found() -> TidingsError:
    return TidingsError(Code.REVIEW_NOT_FOUND, "There is no review of this message or user.")
