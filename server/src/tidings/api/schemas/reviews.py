"""Schemas of reports and of the review queue."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from fastapi import Path
from pydantic import Field
from pydantic.config import JsonDict

from tidings.api.schemas.api_model import SHOWN, ApiModel, Cursor, Time, with_examples
from tidings.api.schemas.chat_list import TimeText, to_ms_or_none
from tidings.api.schemas.chats import PageParams
from tidings.api.schemas.moderation import Reason
from tidings.kernel.clock import format_ms, format_ms_or_none
from tidings.kernel.ids import UserId, message_id
from tidings.moderation.model import (
    MAX_REPORT_CHARS,
    Decision,
    Report,
    ReportReason,
    Review,
    ReviewAction,
    ReviewState,
)
from tidings.moderation.reviews import ReportRequest

_DECISION: JsonDict = {
    "action": "ban",
    "by": "api_key:01JCQ4Z7N3V5X9B2M8K6T1R0WD",
    "at": "2026-11-15T02:12:00.000Z",
    "until": "2026-12-01T00:00:00.000Z",
    "reason": "spam",
}
_REVIEW: JsonDict = {
    "id": "m.gLAJWK6M7H3QFQ3PWXCZ5GZQD.7",
    "state": "open",
    "message": "gLAJWK6M7H3QFQ3PWXCZ5GZQD.7",
    "author": "ben",
    "count": 2,
    "reasons": ["abuse", "spam"],
    "opened_at": "2026-11-15T02:11:21.957Z",
    "reported_at": "2026-11-15T02:11:40.100Z",
}
_REPORT: JsonDict = {
    "reporter": "anna",
    "reason": "spam",
    "text": "The same link in every group.",
    "at": "2026-11-15T02:11:21.957Z",
}

ReviewInPath = Annotated[
    str,
    Path(
        min_length=3,
        max_length=82,
        pattern=r'^[mu]\.[!"$-).0-~+,-]{1,80}$',
        description="The id of a review: `m.` and a message id, or `u.` and a user id.",
        examples=["m.gLAJWK6M7H3QFQ3PWXCZ5GZQD.7"],
    ),
]


class ReportBody(ApiModel):
    """Why a message or a user is reported."""

    model_config = with_examples(
        {"reason": "spam", "text": "The same link in every group."}, {"reason": "abuse"}
    )

    reason: Literal["spam", "abuse", "violence", "sexual", "illegal", "other"]
    text: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=MAX_REPORT_CHARS,
            pattern=SHOWN,
            description="Moderators see it. Other users do not.",
        ),
    ] = None

    def request(self, reporter: UserId) -> ReportRequest:
        return ReportRequest(reporter, ReportReason(self.reason), self.text)


class ReviewsParams(PageParams):
    """A page of the review queue."""

    state: Annotated[
        Literal["open", "applying", "decided"] | None,
        Field(
            description="Only reviews in this state. `applying`: the decision was not carried out completely."
        ),
    ] = None
    limit: Annotated[int, Field(ge=1, le=100, strict=False)] = 50

    @property
    def wanted(self) -> ReviewState | None:
        return None if self.state is None else ReviewState(self.state)


class DecisionBody(ApiModel):
    """What happens to the message or its author."""

    model_config = with_examples(
        {"action": "ban", "until": "2999-12-01T00:00:00Z", "reason": "spam"}, {"action": "dismiss"}
    )

    action: Annotated[
        Literal["dismiss", "redact", "mute", "ban", "suspend"],
        Field(
            description="`redact`: delete the content of the message. `mute`, `ban`: its author in its group. `suspend`: the "
            "author or the reported user everywhere."
        ),
    ]
    until: Annotated[
        TimeText | None, Field(description="The end of a mute or ban. Absent: it has no end.")
    ] = None
    reason: Reason | None = None

    @property
    def wanted(self) -> ReviewAction:
        return ReviewAction(self.action)

    @property
    def until_ms(self) -> int | None:
        return to_ms_or_none(self.until)


class DecisionResponse(ApiModel):
    model_config = with_examples(_DECISION)

    action: str
    by: str
    at: Time
    until: Time | None = None
    reason: str | None = None

    @classmethod
    def of(cls, decision: Decision) -> Self:
        return cls(
            action=decision.action.value,
            by=decision.by,
            at=format_ms(decision.at_ms),
            until=format_ms_or_none(decision.until_ms),
            reason=decision.reason,
        )


class ReviewResponse(ApiModel):
    """All reports about one message or user. `author` wrote the message, or is the reported user."""

    model_config = with_examples(_REVIEW)

    id: str
    state: Literal["open", "applying", "decided"]
    message: str | None = None
    author: str
    count: int
    reasons: list[str]
    opened_at: Time
    reported_at: Time
    decision: DecisionResponse | None = None

    @classmethod
    def of(cls, review: Review) -> Self:
        place = review.target.message
        return cls(
            id=review.target.id,
            state=review.state.value,
            message=None if place is None else message_id(place[0].chat, place[1]),
            author=review.author,
            count=review.count,
            reasons=sorted(review.reasons),
            opened_at=format_ms(review.opened_ms),
            reported_at=format_ms(review.reported_ms),
            decision=None if review.decision is None else DecisionResponse.of(review.decision),
        )


class ReviewsResponse(ApiModel):
    """Open reviews, oldest first; then decided ones, newest first. A page with a `cursor` is not the last one."""

    model_config = with_examples({"reviews": [_REVIEW]})

    reviews: list[ReviewResponse]
    cursor: Cursor | None = None


class ReportResponse(ApiModel):
    model_config = with_examples(_REPORT)

    reporter: str
    reason: str
    text: str | None = None
    at: Time

    @classmethod
    def of(cls, report: Report) -> Self:
        return cls(
            reporter=report.reporter, reason=report.reason.value, text=report.text, at=format_ms(report.at_ms)
        )


class ReviewDetailsResponse(ApiModel):
    """A review with its first 100 reports, by user id."""

    model_config = with_examples({"review": _REVIEW, "reports": [_REPORT]})

    review: ReviewResponse
    reports: list[ReportResponse]

    @classmethod
    def of_parts(cls, review: Review, reports: Sequence[Report]) -> Self:
        return cls(review=ReviewResponse.of(review), reports=[ReportResponse.of(each) for each in reports])
