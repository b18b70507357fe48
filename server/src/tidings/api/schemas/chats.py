"""Schemas of chats, members and blocks."""

from typing import Annotated, Literal, Self

from pydantic import Field
from pydantic.config import JsonDict

from tidings.api.schemas.accounts import PhoneNumber
from tidings.api.schemas.api_model import (
    SHOWN,
    ApiModel,
    ClientKeyName,
    Cursor,
    Position,
    Time,
    UserName,
    with_examples,
)
from tidings.chats.model import FOREVER_MS, ChatType, Membership, Role
from tidings.chats.queries import ChatView
from tidings.delivery.model import ChatListItem, LastMessage, MemberProgress
from tidings.jobs.model import JobId, JobProgress
from tidings.kernel.clock import format_ms, format_ms_or_none
from tidings.kernel.ids import ChatKey
from tidings.tenants.model import MAX_MEMBERS

_CHAT: JsonDict = {
    "id": "gLAJWK6M7H3QFQ3PWXCZ5GZQD",
    "type": "group",
    "name": "Lunch",
    "member_count": 3,
    "created_by": "anna",
    "role": "owner",
    "message_count": 6,
}
_MEMBER: JsonDict = {
    "user": "anna",
    "role": "owner",
    "joined_at": "2026-11-14T09:00:00.000Z",
    "delivered_sequence": 7,
    "read_sequence": 7,
    "read_at": "2026-11-15T14:05:00.000Z",
}
_KEY = "01JCQ4Z7N3V5X9B2M8K6T1R0WD"
_JOB: JsonDict = {
    "id": _KEY,
    "state": "running",
    "total": 10_000,
    "done": 4_800,
    "failed": 0,
    "rate_per_s": 2_140.0,
    "remaining_s": 2.4,
    "created_at": "2026-11-15T02:11:21.957Z",
}

Name = Annotated[
    str,
    Field(
        min_length=1,
        max_length=128,
        pattern=SHOWN,
        description="The name that users see.",
        examples=["Lunch"],
    ),
]
RoleName = Literal["owner", "admin", "member"]
JoinRuleName = Literal["closed", "link", "open"]


class IdempotentBody(ApiModel):
    """Fields that make a change idempotent. Without a key, each request is a new change."""

    client_message_id: ClientKeyName | None = None
    after: Annotated[
        Position | None,
        Field(
            description="The highest sequence that the client had at its first attempt. Send the same value in retries."
        ),
    ] = None


_DIRECT: JsonDict = {"type": "direct", "user": "ben"}
_GROUP: JsonDict = {
    "type": "group",
    "name": "Lunch",
    "members": ["ben", "cleo"],
    "client_message_id": _KEY,
}
CREATE_EXAMPLES = [_DIRECT, _GROUP]


class CreateGroupBody(ApiModel):
    model_config = with_examples(_GROUP)

    type: Literal["group"]
    name: Name
    members: Annotated[
        list[UserName],
        Field(
            max_length=MAX_MEMBERS, description="Members in addition to the caller, who becomes the owner."
        ),
    ] = Field(default_factory=list)
    client_message_id: ClientKeyName | None = None


class CreateDirectBody(ApiModel):
    model_config = with_examples(_DIRECT)

    type: Literal["direct"]
    user: UserName


class RenameBody(IdempotentBody):
    model_config = with_examples({"name": "Dinner", "client_message_id": _KEY})

    name: Name


class AddMembersBody(IdempotentBody):
    model_config = with_examples({"users": ["dora"], "client_message_id": _KEY})

    users: Annotated[list[UserName], Field(min_length=1, max_length=MAX_MEMBERS)]


class NewMemberByPhone(IdempotentBody):
    model_config = with_examples({"phone_number": "+4915112345678", "client_message_id": _KEY})

    phone_number: PhoneNumber


class ChangeRoleBody(IdempotentBody):
    model_config = with_examples({"role": "admin"})

    role: Literal["admin", "member"]


class TransferBody(IdempotentBody):
    model_config = with_examples({"user": "ben"})

    user: UserName


class LastMessageResponse(ApiModel):
    """The newest message of a chat."""

    sequence: int
    at: Time
    sender: str
    state: Literal["active", "ephemeral", "expired", "redacted", "erased", "unreadable"]
    text: Annotated[str | None, Field(description="The start of the text.")] = None

    @classmethod
    def of(cls, last: LastMessage) -> Self:
        return cls(
            sequence=last.sequence,
            at=format_ms(last.at_ms),
            sender=last.sender,
            state=last.state.value,
            text=last.text or None,
        )


class ChatResponse(ApiModel):
    """A chat as a member sees it."""

    model_config = with_examples(_CHAT)

    id: str
    type: Literal["direct", "group"]
    name: str | None = None
    member_count: int
    created_by: str
    role: Annotated[RoleName, Field(description="The caller's role.")]
    is_frozen: Annotated[bool, Field(description="Only admins may send messages.")] = False
    slow_mode_seconds: Annotated[int, Field(description="Time between messages of one member. 0: none.")] = 0
    join_rule: Annotated[JoinRuleName, Field(description="The users that may join without an admin.")] = (
        "closed"
    )
    may_send_at: Annotated[
        Time | None, Field(description="With slow mode: when the caller may send their next message.")
    ] = None
    is_muted: Annotated[bool, Field(description="An admin or a moderator muted the caller.")] = False
    muted_until: Annotated[Time | None, Field(description="Absent: the mute has no end.")] = None
    message_count: Annotated[int, Field(description="Number of messages that delivery has processed.")]
    last: Annotated[
        LastMessageResponse | None, Field(description="The newest message, as in the chat list.")
    ] = None

    @classmethod
    def of(cls, view: ChatView, row: ChatListItem | None) -> Self:
        chat, own, now_ms = view
        may_send_ms = own.last_sent_ms + chat.slow_mode_s * 1000
        is_muted = now_ms < own.muted_until_ms
        return cls(
            id=chat.key.chat,
            type=_type(chat.type),
            name=chat.name,
            member_count=chat.member_count,
            created_by=chat.created_by,
            role=_role(own),
            is_frozen=chat.is_frozen,
            slow_mode_seconds=chat.slow_mode_s,
            join_rule=chat.join_rule.value,
            may_send_at=format_ms(may_send_ms)
            if chat.slow_mode_s and own.role is Role.MEMBER and now_ms < may_send_ms
            else None,
            is_muted=is_muted,
            muted_until=format_ms(own.muted_until_ms)
            if is_muted and own.muted_until_ms < FOREVER_MS
            else None,
            message_count=0 if row is None else row.message_count,
            last=None if row is None or row.last is None else LastMessageResponse.of(row.last),
        )


class ChatCreatedResponse(ApiModel):
    """A chat that was created, or that already existed."""

    model_config = with_examples({"id": _CHAT["id"]})

    id: str
    job: Annotated[
        str | None, Field(description="The job that adds the other members of a group with many members.")
    ] = None

    @classmethod
    def of(cls, key: ChatKey, job: JobId | None = None) -> Self:
        return cls(id=key.chat, job=job)


class MembersAcceptedResponse(ApiModel):
    """A job adds the users to the group."""

    model_config = with_examples({"job": _KEY})

    job: str


class MemberJobResponse(ApiModel):
    """The progress of a job that adds members."""

    model_config = with_examples(_JOB)

    id: str
    state: Literal["running", "paused", "cancelled", "done"]
    total: Annotated[int, Field(description="Number of users in the request. Each is counted once.")]
    done: Annotated[int, Field(description="Users who are members, including earlier members.")]
    failed: Annotated[int, Field(description="Users who could not be added.")]
    rate_per_s: Annotated[float, Field(description="Users per second, over the last ten seconds.")]
    remaining_s: Annotated[
        float | None, Field(description="Estimated remaining time at this rate, in seconds.")
    ] = None
    created_at: Time
    finished_at: Time | None = None

    @classmethod
    def of(cls, progress: JobProgress) -> Self:
        return cls(
            id=progress.job.id,
            state=progress.state.value,
            total=progress.job.total,
            done=progress.done,
            failed=progress.failed,
            rate_per_s=round(progress.rate_per_s, 1),
            remaining_s=None if progress.remaining_s is None else round(progress.remaining_s, 1),
            created_at=format_ms(progress.job.created_ms),
            finished_at=format_ms_or_none(progress.finished_ms),
        )


class MemberResponse(ApiModel):
    """A member of a chat. Values that delivery has not written yet are absent, and all watermarks in a large chat."""

    user: str
    role: RoleName
    joined_at: Annotated[Time | None, Field(description="When they last joined.")] = None
    delivered_sequence: int | None = None
    read_sequence: int | None = None
    read_at: Annotated[Time | None, Field(description="When they last marked messages as read.")] = None

    @classmethod
    def of(cls, row: Membership, progress: MemberProgress | None) -> Self:
        if progress is None:
            return cls(user=row.user, role=_role(row))
        return cls(
            user=row.user,
            role=_role(row),
            joined_at=format_ms_or_none(progress.joined_at_ms),
            delivered_sequence=progress.delivered,
            read_sequence=progress.read,
            read_at=format_ms_or_none(progress.read_at_ms),
        )


class MembersResponse(ApiModel):
    """Members, ordered by user id."""

    model_config = with_examples({"members": [_MEMBER], "cursor": "kM2cVZ8m"})

    members: list[MemberResponse]
    cursor: Annotated[
        Cursor | None, Field(description="Cursor of the next page. Absent on the last page.")
    ] = None


class BlocksResponse(ApiModel):
    """Blocked users, ordered by id."""

    model_config = with_examples({"users": ["dora"]})

    users: list[str]
    cursor: Annotated[
        Cursor | None, Field(description="Cursor of the next page. Absent on the last page.")
    ] = None


class PageParams(ApiModel):
    """The page of a list."""

    cursor: Cursor | None = None
    limit: Annotated[int, Field(ge=1, le=200, strict=False)] = 50


def _type(kind: ChatType) -> Literal["direct", "group"]:
    return "direct" if kind is ChatType.DIRECT else "group"


def _role(row: Membership) -> RoleName:
    return row.role.value
