"""Templates, results and answers of e-mail."""

from enum import StrEnum
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from tidings.inboxes.model import InboxKey, NotificationId

DEFAULT_LOCALE = "en"
MAX_TEMPLATES = 200
MAX_CONFIG_BYTES = 60 * 1024
"""Less than a request of 64 KB."""


class MailTemplate(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The texts of a category in one language. `category` None: for categories without a template of their own.

    `{{name}}` is replaced, and escaped in `html`. Without `html`, the mail is plain text.
    """

    locale: Annotated[str, Meta(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$", max_length=35)]
    subject: Annotated[str, Meta(min_length=1, max_length=256)]
    text: Annotated[str, Meta(min_length=1, max_length=32 * 1024)]
    html: Annotated[str, Meta(max_length=32 * 1024)] | None = None
    category: str | None = None


class MailConfig(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the mails of an inbox look. `sender_name` and `reply_to` None: the address of the installation only."""

    sender_name: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    reply_to: str | None = None
    templates: tuple[MailTemplate, ...] = ()
    updated_ms: int = 0
    version: int = 0


NO_CONFIG = MailConfig()


class MailState(StrEnum):
    """`SENDING`: a worker has claimed it. `DEFERRED`: the mail server asked for a later attempt."""

    SENDING = "sending"
    DEFERRED = "deferred"
    SENT = "sent"
    SKIPPED = "skipped"
    FAILED = "failed"


class MailResult(Struct, frozen=True, kw_only=True):
    """What happened to the mail of a notification to a user.

    `until_ms`: when the claim of a worker ends. `reason`: a `SkipReason`, the answer of the mail server, or why no
    mail could be composed.
    """

    notification: NotificationId
    state: MailState
    at_ms: int
    attempts: int = 0
    until_ms: int = 0
    reason: str = ""

    @property
    def is_final(self) -> bool:
        return self.state in (MailState.SENT, MailState.SKIPPED, MailState.FAILED)


class MailStage(StrEnum):
    """The part of a request that the mail server refused. `SERVER`: the connection, the login or the sender; no fault of the recipient."""

    SERVER = "server"
    RECIPIENT = "recipient"
    CONTENT = "content"


class MailAnswer(NamedTuple):
    """The answer of the mail server. `code` 0: there was none."""

    code: int
    text: str
    stage: MailStage

    @property
    def is_accepted(self) -> bool:
        return 200 <= self.code < 300  # noqa: PLR2004 - classes of SMTP, RFC 5321 section 4.2.1


class OutgoingMail(NamedTuple):
    """`body` is the complete message with its headers."""

    sender: str
    recipient: str
    body: bytes


class MailReference(NamedTuple):
    """The content of a signed link or of a Message-ID."""

    inbox_key: InboxKey
    detail: str
    """The category of a link to unsubscribe, or the notification of a Message-ID."""
    address_hash: str = ""
