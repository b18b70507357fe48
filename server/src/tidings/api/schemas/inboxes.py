"""Schemas of inboxes, sent notifications and recalls."""

from typing import Annotated, Self

from fastapi import Path
from pydantic import Field, JsonValue
from pydantic.config import JsonDict

from tidings.api.schemas.api_model import (
    PART,
    SHOWN,
    ApiModel,
    Cursor,
    Time,
    UserName,
    with_examples,
)
from tidings.api.schemas.chat_list import TimeText, to_ms_or_none
from tidings.api.schemas.notifications import CategoryName
from tidings.api.schemas.preferences import (
    NO_OTHER_NAMES,
    CategorySettingsBody,
    ChannelChoicesBody,
    IsCritical,
)
from tidings.inboxes.config import MAX_CATEGORIES, Inbox, InboxDefaults, InboxSpec
from tidings.inboxes.model import ConfigPage, NotificationContent
from tidings.inboxes.preferences import CategorySettings
from tidings.inboxes.recall import RecallProof, RecallResult
from tidings.inboxes.sender import MAX_USERS, SendNotificationRequest, SendNotificationResult
from tidings.kernel.clock import format_ms, format_ms_or_none

_ID = "01JCQ4Z7N3V5X9B2M8K6T1R0WD"

_AT = "2026-11-15T02:11:21.957Z"
_INBOX: JsonDict = {
    "title": "General Notifications",
    "description": "System-wide notifications",
    "categories": ["news", "orders"],
    "payload_schema": {"type": "object", "required": ["title"]},
    "retention_days": 90,
}
_SHOWN: JsonDict = {"id": "default", **_INBOX, "schema_version": 1, "version": 1, "updated_at": _AT}
_SENT: JsonDict = {"id": _ID, "job": _ID, "total": 2}

Message = Annotated[
    dict[str, JsonValue],
    Field(
        description="The content, at most 16 KB. It must match the inbox's `payload_schema`.",
        examples=[{"title": "New Feature Available", "body": "Check out our latest feature..."}],
    ),
]
HostName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=128,
        pattern=PART,
        description="The id of the notification in your system.",
        examples=["external_id_123"],
    ),
]
HostInPath = Annotated[
    str,
    Path(
        min_length=1,
        max_length=128,
        pattern=PART,
        description="The id of the notification in your system.",
        examples=["external_id_123"],
    ),
]
Label = Annotated[str, Field(min_length=1, max_length=64, examples=["Premium Users"])]
Days = Annotated[
    int, Field(ge=1, le=3650, description="How many days notifications are kept. `null`: no limit.")
]
Seconds = Annotated[
    int,
    Field(
        ge=1, le=315_360_000, description="Lifetime of notifications sent without `expires_at`, in seconds."
    ),
]


class InboxBody(ApiModel):
    """The complete configuration of an inbox. Fields that are not given are reset.

    Exceptions: without `retention_days`, `known_users`, `channels` or `category_settings`, an existing inbox keeps its
    values, and a new inbox gets the tenant's defaults.
    """

    model_config = with_examples(_INBOX)

    title: Annotated[
        str, Field(min_length=1, max_length=64, pattern=SHOWN, examples=["General Notifications"])
    ]
    description: Annotated[str, Field(max_length=256, pattern=SHOWN)] = ""
    categories: Annotated[list[CategoryName], Field(max_length=MAX_CATEGORIES, default_factory=list)]
    payload_schema: Annotated[
        dict[str, JsonValue] | None,
        Field(description="A JSON Schema (2020-12). Messages are validated against it when they are sent."),
    ] = None
    retention_days: Days | None = None
    expires_after_s: Seconds | None = None
    default_category: CategoryName | None = None
    known_users: Annotated[
        bool,
        Field(description="Deliver only to users with a profile. The job counts others as failed."),
    ] = False
    channels: Annotated[
        ChannelChoicesBody | None, Field(description="The channels that notifications of the inbox take.")
    ] = None
    category_settings: Annotated[
        Annotated[dict[CategoryName, CategorySettingsBody], Field(json_schema_extra=NO_OTHER_NAMES)] | None,
        Field(description="Settings by category. They take precedence over `channels`."),
    ] = None

    def to_spec(self, before: Inbox | InboxDefaults) -> InboxSpec:
        """Merge the body with `before`: the existing inbox, or the defaults of a new one."""
        has_days, has_users = (name in self.model_fields_set for name in ("retention_days", "known_users"))
        return InboxSpec(
            title=self.title,
            description=self.description,
            categories=tuple(dict.fromkeys(self.categories)),
            schema=self.payload_schema,
            retention_days=self.retention_days if has_days else before.retention_days,
            expires_after_s=self.expires_after_s,
            default_category=self.default_category,
            is_for_known_users=self.known_users if has_users else before.is_for_known_users,
            channels=before.channels if self.channels is None else self.channels.to_choices(),
            category_settings=self._category_settings(before),
        )

    def _category_settings(self, before: Inbox | InboxDefaults) -> dict[str, CategorySettings]:
        if self.category_settings is not None:
            return {name: each.to_settings() for name, each in self.category_settings.items()}
        known = before.category_settings if isinstance(before, Inbox) else {}
        return {name: each for name, each in known.items() if name in self.categories}


class InboxResponse(ApiModel):
    model_config = with_examples(_SHOWN)

    id: str
    title: str
    description: str
    categories: list[str]
    payload_schema: dict[str, JsonValue] | None = None
    schema_version: Annotated[int, Field(description="Incremented with each change of `payload_schema`.")]
    retention_days: int | None = None
    expires_after_s: int | None = None
    default_category: str | None = None
    known_users: bool = False
    channels: ChannelChoicesBody | None = None
    category_settings: dict[str, CategorySettingsBody] | None = None
    version: int
    updated_at: Time

    @classmethod
    def of(cls, inbox: Inbox) -> Self:
        return cls(
            id=inbox.id,
            title=inbox.title,
            description=inbox.description,
            categories=inbox.categories,
            payload_schema=None if inbox.schema is None else dict(inbox.schema),
            schema_version=inbox.schema_version,
            retention_days=inbox.retention_days,
            expires_after_s=inbox.expires_after_s,
            default_category=inbox.default_category,
            known_users=inbox.is_for_known_users,
            channels=ChannelChoicesBody.of(inbox.channels) if inbox.channels else None,
            category_settings=CategorySettingsBody.by_name(inbox.category_settings),
            version=inbox.version,
            updated_at=format_ms(inbox.updated_ms),
        )


class InboxesResponse(ApiModel):
    model_config = with_examples({"inboxes": [_SHOWN]})

    inboxes: list[InboxResponse]
    cursor: Annotated[
        Cursor | None, Field(description="Cursor of the next page. Absent on the last page.")
    ] = None

    @classmethod
    def of(cls, page: ConfigPage[Inbox], cursor: str | None) -> Self:
        return cls(inboxes=[InboxResponse.of(each) for each in page.items], cursor=cursor)


DigestName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$",
        description="Notifications with the same key are shown as one, if their category has a `digest`. "
        "Default: all notifications of the category.",
        examples=["likes:post-42"],
    ),
]


class SendNotificationBody(ApiModel):
    model_config = with_examples({"user_ids": ["anna", "ben"], "message": {"title": "New Feature Available"}})

    user_ids: Annotated[list[UserName], Field(min_length=1, max_length=MAX_USERS)]
    message: Message
    category: CategoryName | None = None
    sender: Annotated[str, Field(min_length=1, max_length=64, examples=["admin_user"])] | None = None
    label: Label | None = None
    host_system_id: HostName | None = None
    is_unique: Annotated[
        bool, Field(description="Refuse a second notification with this `host_system_id` in the inbox.")
    ] = False
    is_critical: IsCritical = False
    digest_key: DigestName | None = None
    expires_at: TimeText | None = None

    def to_request(self) -> SendNotificationRequest:
        return SendNotificationRequest(
            user_ids=self.user_ids,
            message=self.message,
            category=self.category,
            sender=self.sender,
            label=self.label,
            host_system_id=self.host_system_id,
            is_unique=self.is_unique,
            is_critical=self.is_critical,
            digest_key=self.digest_key,
            expires_ms=to_ms_or_none(self.expires_at),
        )


class NotificationSentResponse(ApiModel):
    """A committed notification. `job` delivers it to the recipients and reports the progress."""

    model_config = with_examples(_SENT)

    id: str
    job: str
    total: int

    @classmethod
    def of(cls, sent: SendNotificationResult) -> Self:
        return cls(id=sent.notification, job=sent.job, total=sent.total)


class AmendNotificationBody(ApiModel):
    model_config = with_examples({"message": {"title": "Corrected"}})

    message: Message


class NotificationAmendedResponse(ApiModel):
    model_config = with_examples({"id": _ID, "version": 2})

    id: str
    version: int

    @classmethod
    def of(cls, content: NotificationContent) -> Self:
        return cls(id=content.id, version=content.version)


class NotificationLookupResponse(ApiModel):
    """A sent notification without its content, which only recipients can read."""

    model_config = with_examples({"id": _ID, "job": _ID, "total": 2, "version": 1, "sent_at": _AT})

    id: str
    job: str
    total: int
    version: int
    sent_at: Time
    redacted_at: Time | None = None

    @classmethod
    def of(cls, content: NotificationContent) -> Self:
        return cls(
            id=content.id,
            job=content.job,
            total=content.count,
            version=content.version,
            sent_at=format_ms(content.created_ms),
            redacted_at=format_ms_or_none(content.redacted_ms),
        )


class NotificationRecalledResponse(ApiModel):
    """A recalled notification. `job` removes it from the recipients' counts; it is empty for a broadcast."""

    model_config = with_examples({"id": _ID, "job": _ID, "redacted_at": _AT})

    id: str
    job: str
    redacted_at: Time

    @classmethod
    def of(cls, recalled: RecallResult) -> Self:
        return cls(id=recalled.notification, job=recalled.job or "", redacted_at=format_ms(recalled.at_ms))


class RecallProofResponse(ApiModel):
    """A recipient. Without `delivered_at` it was never delivered; without `removed_at` the recall is not complete."""

    user: str
    delivered_at: Time | None = None
    read_at: Time | None = None
    removed_at: Time | None = None

    @classmethod
    def of(cls, proof: RecallProof) -> Self:
        return cls(
            user=proof.user,
            delivered_at=format_ms_or_none(proof.delivered_ms),
            read_at=format_ms_or_none(proof.read_ms),
            removed_at=format_ms_or_none(proof.vanished_ms),
        )


class RecallProofsResponse(ApiModel):
    model_config = with_examples(
        {"users": [{"user": "anna", "delivered_at": _AT, "read_at": _AT, "removed_at": _AT}]}
    )

    users: list[RecallProofResponse]
    cursor: Cursor | None = None
