"""Schemas of broadcasts, segments and profiles."""

from typing import Annotated, Literal, Self

from fastapi import Path
from pydantic import Field, JsonValue
from pydantic.config import JsonDict

from tidings.api.schemas.api_model import ApiModel, Cursor, Time, UserName, with_examples
from tidings.api.schemas.chat_list import TimeText, to_ms_or_none
from tidings.api.schemas.inboxes import HostName, Label, Message
from tidings.api.schemas.notifications import CategoryName
from tidings.api.schemas.preferences import IsCritical
from tidings.inboxes.broadcasts.estimates import CostEstimate, ReachEstimate
from tidings.inboxes.broadcasts.model import PARTS, STALE_MS, Profile, RolloutStatus, Segment
from tidings.inboxes.broadcasts.ports import ReaderPage
from tidings.inboxes.broadcasts.segments import MAX_ATTRIBUTES, MAX_LISTED
from tidings.inboxes.broadcasts.service import (
    ALL_AT_ONCE,
    MAX_STEPS,
    BroadcastRequest,
    BroadcastResult,
    RolloutStep,
)
from tidings.inboxes.model import EVERYONE, ConfigPage, NotificationContent
from tidings.kernel.clock import format_ms, format_ms_or_none

_ID, _AT = "01JCQ4Z7N3V5X9B2M8K6T1R0WD", "2026-11-15T02:11:21.957Z"
_BROADCAST: JsonDict = {
    "id": _ID,
    "percent": 100,
    "sequence": 7,
    "visible_from": _AT,
    "is_halted": False,
    "broadcasts_up_to": 7,
}
_PREDICATE: JsonDict = {"all": [{"attribute": "plan", "in": ["pro", "team"]}]}
_SEGMENT: JsonDict = {"name": "pros", "predicate": _PREDICATE, "version": 1, "updated_at": _AT}
_PROFILE: JsonDict = {"attributes": {"plan": "pro"}, "created_at": _AT}
_ESTIMATE: JsonDict = {
    "reach": 25_600,
    "low": 20_582,
    "high": 30_618,
    "sampled": 400,
    "write_units": 6,
    "dollars": 0.000004,
    "copied_write_units": 102_400,
    "copied_dollars": 0.064,
}

SegmentName = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", description="Name of a segment.", examples=["pros"]),
]
SegmentInPath = Annotated[
    str,
    Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", description="Name of a segment.", examples=["pros"]),
]
Percent = Annotated[
    int, Field(ge=1, le=100, description="Share of the users who see it, in percent.", examples=[25])
]


class RampStep(ApiModel):
    percent: Percent
    after_s: Annotated[
        int, Field(ge=0, le=90 * 86_400, description="Seconds after the start of the broadcast.")
    ] = 0


class CreateBroadcastBody(ApiModel):
    """A broadcast to everyone in an inbox, or to a segment."""

    model_config = with_examples(
        {"message": {"title": "We are back"}},
        {
            "message": {"title": "Try it"},
            "segment": "pros",
            "starts_at": "2026-12-01T08:00:00Z",
            "ramp": [{"percent": 5}, {"percent": 100, "after_s": 3600}],
        },
    )

    message: Message
    segment: SegmentName | None = None
    category: CategoryName | None = None
    sender: Annotated[str, Field(min_length=1, max_length=64, examples=["admin_user"])] | None = None
    label: Label | None = None
    host_system_id: HostName | None = None
    is_unique: Annotated[
        bool, Field(description="Refuse a second notification with this `host_system_id` in the inbox.")
    ] = False
    is_critical: IsCritical = False
    starts_at: TimeText | None = None
    expires_at: Annotated[TimeText | None, Field(description="At most 90 days after the start.")] = None
    ramp: Annotated[list[RampStep], Field(min_length=1, max_length=MAX_STEPS)] | None = None
    track_reads: Annotated[
        bool, Field(description="Record the users who read it, with one write per reader.")
    ] = False

    def to_request(self) -> BroadcastRequest:
        steps = (
            ALL_AT_ONCE
            if self.ramp is None
            else tuple(RolloutStep(each.percent, each.after_s) for each in self.ramp)
        )
        return BroadcastRequest(
            message=self.message,
            segment=self.segment,
            category=self.category,
            sender=self.sender,
            label=self.label,
            host_system_id=self.host_system_id,
            is_critical=self.is_critical,
            is_unique=self.is_unique,
            starts_ms=to_ms_or_none(self.starts_at),
            expires_ms=to_ms_or_none(self.expires_at),
            steps=steps,
            tracks_reads=self.track_reads,
        )


class BroadcastCreatedResponse(ApiModel):
    """A committed broadcast. Without a `sequence` it has not started yet. `jobs` are the planned steps."""

    model_config = with_examples({"id": _ID, "jobs": [], "sequence": 7})

    id: str
    jobs: list[str]
    sequence: Annotated[
        int | None, Field(description="Pass it as `at_least` to get a read that includes this broadcast.")
    ] = None

    @classmethod
    def of(cls, announced: BroadcastResult) -> Self:
        return cls(id=announced.notification, jobs=list(announced.jobs), sequence=announced.status.sequence)


class BroadcastResponse(ApiModel):
    """The progress of a broadcast. After a recall, no one sees or counts it from `hidden_by` on."""

    model_config = with_examples(
        _BROADCAST, _BROADCAST | {"redacted_at": _AT, "hidden_by": "2026-11-15T02:11:22.957Z"}
    )

    id: str
    segment: str | None = None
    percent: Annotated[
        int, Field(description="Share of the users who see it, in percent. 0 if it has not started.")
    ]
    sequence: int | None = None
    visible_from: Time | None = None
    expires_at: Time | None = None
    is_halted: bool
    redacted_at: Time | None = None
    hidden_by: Annotated[
        Time | None, Field(description="`redacted_at` plus the second for which caches may be stale.")
    ] = None
    broadcasts_up_to: Annotated[int, Field(description="The last sequence of the inbox's broadcast log.")]

    @classmethod
    def of(cls, content: NotificationContent, reached: RolloutStatus) -> Self:
        redacted_ms = reached.redacted_ms or content.redacted_ms
        return cls(
            id=content.id,
            segment=None if content.reach == EVERYONE else content.reach,
            percent=reached.parts * 100 // PARTS,
            sequence=reached.sequence,
            visible_from=format_ms_or_none(reached.since_ms),
            expires_at=format_ms_or_none(content.expires_ms),
            is_halted=reached.is_halted,
            redacted_at=format_ms_or_none(redacted_ms),
            hidden_by=format_ms_or_none(None if redacted_ms is None else redacted_ms + STALE_MS),
            broadcasts_up_to=reached.head,
        )


class ReaderResponse(ApiModel):
    user: str
    read_at: Time


class ReadersResponse(ApiModel):
    """Readers, ordered by user id."""

    model_config = with_examples({"readers": [{"user": "anna", "read_at": _AT}]})

    readers: list[ReaderResponse]
    cursor: Cursor | None = None

    @classmethod
    def of(cls, page: ReaderPage, cursor: str | None) -> Self:
        shown = [ReaderResponse(user=each.user, read_at=format_ms(each.at_ms)) for each in page.readers]
        return cls(readers=shown, cursor=cursor)


class RampBody(ApiModel):
    model_config = with_examples({"percent": 50})

    percent: Percent


class EstimateBody(ApiModel):
    model_config = with_examples({"segment": "pros"})

    segment: SegmentName | None = None
    percent: Percent = 100


class EstimateResponse(ApiModel):
    """An estimate from one of 256 partitions of the directory. `low` and `high` are a 95 % confidence interval."""

    model_config = with_examples(_ESTIMATE)

    reach: Annotated[int, Field(description="Estimated number of users with a profile who would see it.")]
    low: int
    high: int
    sampled: Annotated[int, Field(description="Number of profiles that were read.")]
    write_units: Annotated[
        int, Field(description="DynamoDB write units of the broadcast, independent of its reach.")
    ]
    dollars: float
    copied_write_units: Annotated[int, Field(description="Write units of one copy per user, for comparison.")]
    copied_dollars: float

    @classmethod
    def of(cls, reach: ReachEstimate, price: CostEstimate) -> Self:
        return cls(
            reach=reach.users,
            low=reach.low,
            high=reach.high,
            sampled=reach.seen,
            write_units=price.write_units,
            dollars=price.dollars,
            copied_write_units=price.copied_write_units,
            copied_dollars=price.copied_dollars,
        )


class SegmentBody(ApiModel):
    """A segment defined by a predicate, which is evaluated when a user reads their inbox."""

    model_config = with_examples({"predicate": _PREDICATE})

    predicate: Annotated[dict[str, JsonValue], Field(examples=[_PREDICATE])]


class SegmentResponse(ApiModel):
    model_config = with_examples(_SEGMENT)

    name: str
    kind: Literal["predicate", "list"] = "predicate"
    predicate: dict[str, JsonValue] | None = None
    active: Annotated[int | None, Field(description="The active version of the list.")] = None
    newest: Annotated[int | None, Field(description="The version that was uploaded last.")] = None
    version: int
    updated_at: Time

    @classmethod
    def of(cls, segment: Segment) -> Self:
        return cls(
            name=segment.name,
            kind="list" if segment.is_list else "predicate",
            predicate=None if segment.predicate is None else dict(segment.predicate),
            active=segment.active if segment.is_list else None,
            newest=segment.newest if segment.is_list else None,
            version=segment.version,
            updated_at=format_ms(segment.updated_ms),
        )


class SegmentsResponse(ApiModel):
    model_config = with_examples({"segments": [_SEGMENT]})

    segments: list[SegmentResponse]
    cursor: Annotated[
        Cursor | None, Field(description="Cursor of the next page. Absent on the last page.")
    ] = None

    @classmethod
    def of(cls, page: ConfigPage[Segment], cursor: str | None) -> Self:
        return cls(segments=[SegmentResponse.of(each) for each in page.items], cursor=cursor)


class SegmentUsersBody(ApiModel):
    """Users of a list. They go into its next version, or into the open `version` if a long list needs several calls."""

    model_config = with_examples({"users": ["anna", "ben"]})

    users: Annotated[list[UserName], Field(min_length=1, max_length=MAX_LISTED)]
    version: Annotated[int, Field(ge=1, le=999_999_999)] | None = None


class ActivateVersionBody(ApiModel):
    model_config = with_examples({"version": 2})

    version: Annotated[
        int, Field(ge=1, le=999_999_999, description="The newest version or the one before it.")
    ]


class ProfileBody(ApiModel):
    """Attributes of a user. Replaces all attributes.

    The first `created_at` is kept: the user does not see broadcasts that were sent before it.
    """

    model_config = with_examples(_PROFILE)

    attributes: Annotated[dict[str, JsonValue], Field(max_length=MAX_ATTRIBUTES)]
    created_at: TimeText | None = None

    @property
    def created_ms(self) -> int | None:
        return to_ms_or_none(self.created_at)


class ProfileResponse(ApiModel):
    model_config = with_examples({"user": "anna", **_PROFILE, "lists": {"vip": 2}})

    user: str
    attributes: dict[str, JsonValue]
    lists: Annotated[
        dict[str, int], Field(description="The newest version of each list that contains the user.")
    ]
    created_at: Time | None = None

    @classmethod
    def of(cls, profile: Profile) -> Self:
        return cls(
            user=profile.user,
            attributes=dict(profile.attributes),
            lists={name: newest for name, (newest, _) in profile.lists.items()},
            created_at=format_ms_or_none(profile.created_ms or None),
        )
