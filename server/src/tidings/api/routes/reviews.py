"""Reports of messages and users, and the review queue of a tenant."""

from typing import Annotated

from fastapi import APIRouter, Query

from tidings.api.auth import AsModerationServer, AsUser, AuthenticatedRoute
from tidings.api.openapi import EVENTS, OF_APPENDS, OF_BODIES, OF_CHANGES, OF_CONTENT_KEYS, route_options
from tidings.api.request_parsing import locate_message
from tidings.api.schemas.api_model import MessageInPath, UserInPath
from tidings.api.schemas.reviews import (
    DecisionBody,
    ReportBody,
    ReviewDetailsResponse,
    ReviewInPath,
    ReviewResponse,
    ReviewsParams,
    ReviewsResponse,
)
from tidings.kernel.errors import Code
from tidings.moderation.model import ReviewTarget

router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["reviews"])

_OF_REPORTS = (*OF_BODIES, Code.KEYS_UNAVAILABLE, Code.OUTCOME_UNKNOWN, Code.WRITE_CONFLICT, Code.USER_ERASED)
_REPORT = ("reports.read_review", "reports.add", *OF_CONTENT_KEYS, *EVENTS)


@router.post(
    "/messages/{message}/report",
    **route_options(
        "report_message",
        *_OF_REPORTS,
        Code.MESSAGE_NOT_FOUND,
        Code.DECRYPTION_FAILED,
        touches=("memberships.check", "messages.read_one", "messages.read_ephemeral", *_REPORT),
        status_code=204,
        summary="Report a message",
    ),
)
async def report_message(call: AsUser, message: MessageInPath, body: ReportBody) -> None:
    """Report a message to the tenant's moderators. The user must be able to read it. A second report changes nothing."""
    chat, sequence = locate_message(call.tenant, message)
    await call.services.moderation.reports.report_message(chat, sequence, body.request(call.user))


@router.post(
    "/users/{user}/report",
    **route_options(
        "report_user",
        *_OF_REPORTS,
        Code.USER_NOT_FOUND,
        touches=("users.read", *_REPORT),
        status_code=204,
        summary="Report a user",
    ),
)
async def report_user(call: AsUser, user: UserInPath, body: ReportBody) -> None:
    """Report a user to the tenant's moderators. A second report changes nothing."""
    await call.services.moderation.reports.report_user(call.tenant, user, body.request(call.user))


@router.get(
    "/reviews",
    **route_options(
        "list_reviews",
        Code.CURSOR_INVALID,
        touches=("reports.list_queue", "reports.read_reviews"),
        summary="List the review queue",
    ),
)
async def list_reviews(call: AsModerationServer, asked: Annotated[ReviewsParams, Query()]) -> ReviewsResponse:
    """List reported messages and users: open ones first, oldest first, then decided ones, newest first.

    Reviews appear within seconds. Requires an API key with the scope `moderation`.
    """
    cursors = call.edge.cursors.of(call.tenant, None, "reviews", asked.state)
    page = await call.edge.services.moderation.reviews.page(
        call.tenant, asked.wanted, cursors.read(asked.cursor), asked.limit
    )
    return ReviewsResponse(
        reviews=[ReviewResponse.of(each) for each in page.reviews], cursor=cursors.write(page.last)
    )


@router.get(
    "/reviews/{review}",
    **route_options(
        "get_review",
        Code.REVIEW_NOT_FOUND,
        Code.KEYS_UNAVAILABLE,
        Code.DECRYPTION_FAILED,
        touches=("reports.read_review", "reports.list", *OF_CONTENT_KEYS),
        summary="Get a review",
    ),
)
async def get_review(call: AsModerationServer, review: ReviewInPath) -> ReviewDetailsResponse:
    """Get a review with its reports. Requires an API key with the scope `moderation`."""
    service, target = call.edge.services.moderation.reviews, ReviewTarget(call.tenant, review)
    return ReviewDetailsResponse.of_parts(await service.read(target), await service.reports(target))


@router.post(
    "/reviews/{review}/decision",
    **route_options(
        "decide_review",
        *OF_BODIES,
        *OF_CHANGES,
        Code.REVIEW_NOT_FOUND,
        Code.REVIEW_DECIDED,
        Code.MESSAGE_NOT_FOUND,
        Code.USER_NOT_FOUND,
        Code.KEYS_UNAVAILABLE,
        touches=(
            *("reports.read_review", "reports.change_review", "messages.read_one", "messages.append_change"),
            *("messages.redact_attachments", "chats.check", "chats.restrict", "chats.remove_member"),
            *("users.suspend", *OF_APPENDS, *EVENTS),
        ),
        summary="Decide a review",
    ),
)
async def decide_review(call: AsModerationServer, review: ReviewInPath, body: DecisionBody) -> ReviewResponse:
    """Record a decision and carry it out. The same decision again returns the same review.

    Another decision is refused with `review_decided`. If the action is not possible, the review is open again. Requires
    an API key with the scope `moderation`.
    """
    decided = await call.edge.services.moderation.reviews.decide(
        ReviewTarget(call.tenant, review),
        body.wanted,
        f"api_key:{call.principal.api_key}",
        until_ms=body.until_ms,
        reason=body.reason,
    )
    return ReviewResponse.of(decided)
