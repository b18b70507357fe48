"""Schemas of a user's notifications and their counts."""

from typing import Annotated, Literal, Self
from zlib import crc32

from fastapi import Path, Query
from pydantic import Field, JsonValue, model_validator
from pydantic.config import JsonDict

from tidings.api.schemas.api_model import ApiModel, Cursor, Time, with_examples
from tidings.api.schemas.chat_list import TimeText, to_ms_or_none
from tidings.inboxes.config import Inbox
from tidings.inboxes.model import InboxId, InboxSnapshot, NotificationId
from tidings.inboxes.paging import CountExplanation
from tidings.inboxes.queries import MAX_PAGE, ExplainedCounts, NotificationSlice, VisibleNotification
from tidings.kernel.clock import format_ms, format_ms_or_none

ULID = r"^[0-7][0-9A-HJKMNP-TV-Z]{25}$"
CATEGORY = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
_ID = "01JCQ4Z7N3V5X9B2M8K6T1R0WD"

_AT = "2026-11-15T02:11:21.957Z"
_COUNTS: JsonDict = {"unread": 3, "unseen": 1, "categories": {"news": 2}, "next_change_at": _AT}
_NOTIFICATION: JsonDict = {
    "id": _ID,
    "category": "news",
    "sender": "admin_user",
    "host_system_id": "external_id_123",
    "label": "Premium Users",
    "received_at": _AT,
    "delivered_at": _AT,
    "is_read": False,
    "is_seen": True,
    "is_archived": False,
    "version": 1,
    "message": {"title": "New Feature Available"},
}


InboxInPath = Annotated[
    InboxId,
    Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$", description="Name of an inbox.", examples=["default"]),
]
NotificationInPath = Annotated[
    NotificationId, Path(pattern=ULID, description="A notification id.", examples=[_ID])
]
NotificationName = Annotated[NotificationId, Field(pattern=ULID, examples=[_ID])]
CategoryName = Annotated[
    str, Field(pattern=CATEGORY, description="One of the inbox's categories.", examples=["news"])
]


_AT_LEAST = "Include broadcasts up to this sequence, from a previous answer. Without it, the answer may be up to a second old."
AtLeast = Annotated[int, Query(ge=0, le=10**12 - 1, description=_AT_LEAST)]


class NotificationsParams(ApiModel):
    cursor: Cursor | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, strict=False)] = 20
    category: CategoryName | None = None
    unread: Annotated[bool, Field(strict=False, description="List only unread notifications.")] = False
    archived: Annotated[bool, Field(strict=False, description="List archived notifications instead.")] = False
    at_least: Annotated[int, Field(ge=0, le=10**12 - 1, strict=False, description=_AT_LEAST)] = 0


class NotificationIdsBody(ApiModel):
    model_config = with_examples({"ids": [_ID]})

    ids: Annotated[list[NotificationName], Field(min_length=1, max_length=100)]


class MarkReadBody(ApiModel):
    """Either `ids`, or all notifications up to `before` (default: now), optionally of one `category`."""

    model_config = with_examples({"ids": [_ID]}, {"before": "2026-11-15T02:11:21Z", "category": "news"})

    ids: Annotated[list[NotificationName], Field(min_length=1, max_length=100)] | None = None
    before: TimeText | None = None
    category: CategoryName | None = None

    @model_validator(mode="after")
    def _is_one_of_two(self) -> Self:
        if self.ids is not None and (self.before is not None or self.category is not None):
            raise ValueError("use either `ids`, or `before` and `category`")
        return self

    @property
    def before_ms(self) -> int | None:
        return to_ms_or_none(self.before)


class CountsResponse(ApiModel):
    """Exact unread counts at the time of the answer."""

    model_config = with_examples(_COUNTS)

    unread: int
    unseen: Annotated[
        int, Field(description="Unread notifications that arrived since the user last opened the inbox.")
    ]
    categories: Annotated[
        dict[str, int], Field(description="Unread notifications by category.", examples=[{"news": 2}])
    ]
    next_change_at: Annotated[
        Time | None,
        Field(description="When the next counted notification expires. Read the counts again then."),
    ] = None
    broadcasts_up_to: Annotated[
        int | None,
        Field(
            description="The last broadcast sequence in this answer. Pass it as `at_least` to other reads."
        ),
    ] = None

    @classmethod
    def of(cls, snapshot: InboxSnapshot, inbox: Inbox) -> Self:
        by_code = snapshot.by_category
        names = {name: by_code.get(code, 0) for name, code in inbox.codes.items()}
        shown = {name: count for name, count in names.items() if count or name in inbox.categories}
        return cls(
            unread=snapshot.total,
            unseen=snapshot.unseen,
            categories=shown,
            next_change_at=format_ms_or_none(snapshot.next_change_ms),
            broadcasts_up_to=snapshot.shown.log_index.head or None,
        )


def counts_etag(snapshot: InboxSnapshot) -> str:
    """Return an ETag that changes with the counts and with the next expiry."""
    direct = f"{snapshot.stored.version}-{snapshot.counts.total}-{snapshot.counts.unseen}"
    tally = snapshot.tally
    if not snapshot.shown.log_index.head:
        return f'"{direct}-{snapshot.next_ms or 0}"'
    by_category = crc32(repr(sorted(tally.by_category.items())).encode())
    broadcast = f"{snapshot.broadcast_state.version}-{snapshot.shown.log_index.head}-{tally.total}-{tally.unseen}-{by_category:x}"
    return f'"{direct}-{broadcast}-{snapshot.next_change_ms or 0}"'


class NotificationResponse(ApiModel):
    id: str
    category: str | None = None
    sender: str | None = None
    host_system_id: str | None = None
    label: str | None = None
    received_at: Annotated[Time, Field(description="When it was sent.")]
    delivered_at: Time
    expires_at: Time | None = None
    is_read: bool
    is_seen: bool
    is_archived: bool
    version: Annotated[int, Field(description="Greater than 1 if the content was changed.")]
    message: Annotated[dict[str, JsonValue], Field(examples=[{"title": "New Feature Available"}])]
    digest_count: Annotated[
        int | None,
        Field(
            description="How many notifications with the same digest key it stands for, itself included. "
            "`message`, `sender` and `label` are those of the newest. Absent without a digest."
        ),
    ] = None

    @classmethod
    def of(cls, notification: VisibleNotification, inbox: Inbox) -> Self:
        row, content = notification.row, notification.content
        return cls(
            id=row.id,
            category=inbox.name_of(row.category),
            sender=content.sender,
            host_system_id=row.host_system_id,
            label=content.label,
            received_at=format_ms(row.sent_ms),
            delivered_at=format_ms(row.delivered_ms or 0),
            expires_at=format_ms_or_none(row.expires_ms),
            is_read=notification.is_read,
            is_seen=notification.is_seen,
            is_archived=row.archived_ms is not None,
            version=content.version,
            message=notification.message,
            digest_count=row.gathered or None,
        )


class NotificationsResponse(ApiModel):
    """A page of notifications, newest first. With a filter, a page may be short or empty although there is a cursor."""

    model_config = with_examples(
        {"notifications": [_NOTIFICATION], "counts": _COUNTS, "cursor": "kM2cVZ8m0vJr1mJ4yq0O2WJlbg"}
    )

    notifications: list[NotificationResponse]
    counts: CountsResponse
    cursor: Cursor | None = None

    @classmethod
    def of(cls, page: NotificationSlice, inbox: Inbox, cursor: str | None) -> Self:
        return cls(
            notifications=[NotificationResponse.of(each, inbox) for each in page.notifications],
            counts=CountsResponse.of(page.snapshot, inbox),
            cursor=cursor,
        )


class CountReasonResponse(ApiModel):
    id: str
    category: str | None = None
    is_counted: bool
    why: Annotated[
        Literal[
            "before_joining",
            "not_targeted",
            "channel_off",
            "throttled",
            "digested",
            "redacted",
            "expired",
            "retention_over",
            "archived",
            "read",
            "marked_all",
            "marked_category",
            "unread_again",
            "delivered",
        ],
        Field(description="The reason why it is or is not counted."),
    ]
    since: Time

    @classmethod
    def of(cls, reason: CountExplanation, inbox: Inbox) -> Self:
        return cls(
            id=reason.row.id,
            category=inbox.name_of(reason.row.category),
            is_counted=reason.is_counted,
            why=reason.why.value,
            since=format_ms(reason.at_ms),
        )


class ExplainCountsResponse(ApiModel):
    """A user's notifications, newest first, with the reason why each one is or is not counted."""

    model_config = with_examples(
        {
            "counts": _COUNTS,
            "notifications": [{"id": _ID, "is_counted": True, "why": "delivered", "since": _AT}],
        }
    )

    counts: CountsResponse
    notifications: list[CountReasonResponse]
    cursor: Cursor | None = None

    @classmethod
    def of(cls, explained: ExplainedCounts, inbox: Inbox, cursor: str | None) -> Self:
        return cls(
            counts=CountsResponse.of(explained.snapshot, inbox),
            notifications=[CountReasonResponse.of(each, inbox) for each in explained.reasons],
            cursor=cursor,
        )
