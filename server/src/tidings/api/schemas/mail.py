"""Schemas of e-mail: templates of an inbox, results, and bounces."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field
from pydantic.config import JsonDict

from tidings.accounts.model import EmailRefusal
from tidings.api.schemas.accounts import EmailAddress
from tidings.api.schemas.api_model import SHOWN, ApiModel, Time, with_examples
from tidings.api.schemas.notifications import CategoryName
from tidings.inboxes.mail.model import MAX_TEMPLATES, MailConfig, MailResult, MailTemplate
from tidings.kernel.clock import format_ms, format_ms_or_none

_TEMPLATE: JsonDict = {
    "locale": "en",
    "subject": "{{message.title}}",
    "text": "Hello {{name}},\n\n{{message.body}}\n\nUnsubscribe: {{unsubscribe_url}}",
    "html": "<p>Hello {{name}},</p><p>{{message.body}}</p>",
}
_RESULT: JsonDict = {
    "notification_id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
    "state": "skipped",
    "at": "2026-11-15T02:11:21.957Z",
    "attempts": 0,
    "reason": "read",
}


class MailTemplateBody(ApiModel):
    """The texts of a mail in one language. Placeholders in `{{…}}` are replaced; in `html` their values are escaped.

    Placeholders: `message.…` for the fields of the notification, `name`, `category`, `count` and `others` of a digest,
    and `unsubscribe_url`.
    """

    model_config = with_examples(_TEMPLATE)

    locale: Annotated[str, Field(max_length=35, pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$", examples=["en"])]
    subject: Annotated[str, Field(min_length=1, max_length=256, pattern=SHOWN)]
    text: Annotated[str, Field(min_length=1, max_length=32 * 1024)]
    html: Annotated[
        str | None, Field(max_length=32 * 1024, description="Without it, mails are plain text.")
    ] = None
    category: CategoryName | None = None

    def to_template(self) -> MailTemplate:
        return MailTemplate(
            locale=self.locale, subject=self.subject, text=self.text, html=self.html, category=self.category
        )

    @classmethod
    def of(cls, template: MailTemplate) -> Self:
        return cls(
            locale=template.locale,
            subject=template.subject,
            text=template.text,
            html=template.html,
            category=template.category,
        )


class MailConfigBody(ApiModel):
    """How the mails of an inbox look."""

    model_config = with_examples({"sender_name": "Example Shop", "templates": [_TEMPLATE]})

    sender_name: Annotated[str, Field(min_length=1, max_length=128, pattern=SHOWN)] | None = None
    reply_to: EmailAddress | None = None
    templates: Annotated[
        list[MailTemplateBody],
        Field(
            default_factory=list,
            max_length=MAX_TEMPLATES,
            description="Templates of categories; those without a category are for all others. Without a template, a mail "
            "shows `title`, `body` and `url` of the message.",
        ),
    ]

    def to_config(self) -> MailConfig:
        return MailConfig(
            sender_name=self.sender_name,
            reply_to=self.reply_to,
            templates=tuple(each.to_template() for each in self.templates),
        )


class MailConfigResponse(MailConfigBody):
    version: int
    updated_at: Time | None = None

    @classmethod
    def of(cls, config: MailConfig) -> Self:
        return cls(
            sender_name=config.sender_name,
            reply_to=config.reply_to,
            templates=[MailTemplateBody.of(each) for each in config.templates],
            version=config.version,
            updated_at=format_ms_or_none(config.updated_ms or None),
        )


class MailResultsParams(ApiModel):
    """How many results to list."""

    limit: Annotated[int, Field(ge=1, le=100, strict=False)] = 20


class MailResultResponse(ApiModel):
    model_config = with_examples(_RESULT)

    notification_id: str
    state: Literal["sending", "deferred", "sent", "skipped", "failed"]
    at: Time
    attempts: int
    reason: Annotated[
        str | None,
        Field(
            description="Why nothing was sent, such as `read` or `no_address`, or what the mail server answered."
        ),
    ] = None


class MailResultsResponse(ApiModel):
    """The last mails of a user, newest notification first. Results are kept for 90 days."""

    model_config = with_examples({"emails": [_RESULT]})

    emails: list[MailResultResponse]

    @classmethod
    def of(cls, results: Sequence[MailResult]) -> Self:
        return cls(
            emails=[
                MailResultResponse(
                    notification_id=each.notification,
                    state=each.state.value,
                    at=format_ms(each.at_ms),
                    attempts=each.attempts,
                    reason=each.reason or None,
                )
                for each in results
            ]
        )


class BounceBody(ApiModel):
    """A report that a mail did not arrive, or was marked as spam."""

    model_config = with_examples({"message_id": "<WyJkZXYi.kM2cVZ8m@example.com>", "kind": "bounce"})

    message_id: Annotated[str, Field(max_length=512, description="The header `Message-ID` of the mail.")]
    kind: Annotated[
        Literal["bounce", "complaint"],
        Field(description="`bounce`: the address does not exist. Do not report temporary failures."),
    ] = "bounce"

    def to_refusal(self) -> EmailRefusal:
        return EmailRefusal(self.kind)


class BouncedUserResponse(ApiModel):
    model_config = with_examples({"user_id": "anna"})

    user_id: str
