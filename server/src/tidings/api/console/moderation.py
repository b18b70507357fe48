"""The review queue with the reported messages in context, decisions, and the lists of words and domains."""

from typing import Annotated, Final

from fastapi import APIRouter, Query

from tidings.api.console.policy import ConsoleRoute, allow
from tidings.api.console.session import AsOperator
from tidings.api.schemas.api_model import ApiModel, TenantInPath, Time
from tidings.api.schemas.moderation import ContentRulesBody
from tidings.api.schemas.reviews import (
    DecisionBody,
    ReportResponse,
    ReviewInPath,
    ReviewResponse,
    ReviewsParams,
    ReviewsResponse,
)
from tidings.chats.model import chat_type
from tidings.kernel.action_notes import note_change
from tidings.kernel.clock import format_ms
from tidings.kernel.ids import ChatKey, message_id
from tidings.messages.history import VisibleEntry
from tidings.messages.model import EntryKind
from tidings.moderation.model import ReviewTarget
from tidings.operators.model import Role

router = APIRouter(prefix="/admin/v1/tenants/{tenant}", route_class=ConsoleRoute, tags=["moderation"])
_CONTEXT: Final = 5
"""Entries that are shown before and after a reported message."""


class ContextMessage(ApiModel):
    """A message near a reported one. `state` says why there is no text: redacted, expired or erased."""

    message: str
    sender: str
    at: Time
    state: str
    text: str | None = None
    is_reported: bool

    @classmethod
    def of(cls, chat: ChatKey, shown: VisibleEntry, reported: int) -> "ContextMessage":
        return cls(
            message=message_id(chat.chat, shown.entry.sequence),
            sender=shown.entry.sender,
            at=format_ms(shown.entry.created_at_ms),
            state=shown.state.value,
            text=None if shown.content is None else shown.content.text,
            is_reported=shown.entry.sequence == reported,
        )


class ReviewContextResponse(ApiModel):
    """A review, its first 100 reports, and for a message its chat and the messages around it, oldest first."""

    review: ReviewResponse
    reports: list[ReportResponse]
    chat: str | None = None
    chat_type: str | None = None
    messages: list[ContextMessage]


@router.get("/reviews", **allow("list_reviews", Role.SUPPORT, is_recorded=False))
async def list_reviews(
    call: AsOperator, tenant: TenantInPath, asked: Annotated[ReviewsParams, Query()]
) -> ReviewsResponse:
    """List the review queue, without content: open reviews, oldest first, then decided ones, newest first."""
    cursors = call.context.cursors.of(tenant, None, f"reviews {call.operator.id}", asked.state)
    page = await call.context.services.moderation.reviews.page(
        tenant, asked.wanted, cursors.read(asked.cursor), asked.limit
    )
    return ReviewsResponse(
        reviews=[ReviewResponse.of(each) for each in page.reviews], cursor=cursors.write(page.last)
    )


@router.post("/reviews/{review}/context", **allow("read_review", Role.SUPPORT, is_recorded=True))
async def read_review(call: AsOperator, tenant: TenantInPath, review: ReviewInPath) -> ReviewContextResponse:
    """Read a review with the reported message and its context. The reports are the reason; the audit log keeps the read."""
    services, target = call.context.services, ReviewTarget(tenant, review)
    found = await services.moderation.reviews.read(target)
    reports = await services.moderation.reviews.reports(target)
    answer = ReviewContextResponse(
        review=ReviewResponse.of(found), reports=[ReportResponse.of(each) for each in reports], messages=[]
    )
    if target.message is None:
        return answer
    chat, sequence = target.message
    near = await services.support.history.within(
        chat, max(0, sequence - 1 - _CONTEXT), sequence + _CONTEXT, 2 * _CONTEXT + 1
    )
    shown = [each for each in reversed(near.entries) if each.entry.kind is EntryKind.MESSAGE]
    note_change(None, {"read": [message_id(chat.chat, each.entry.sequence) for each in shown]})
    messages = [ContextMessage.of(chat, each, sequence) for each in shown]
    kind = chat_type(chat.chat).value
    return answer.model_copy(update={"chat": chat.chat, "chat_type": kind, "messages": messages})


@router.post(
    "/reviews/{review}/decision",
    **allow("decide_review", Role.OPERATOR, needs_reason=True, is_recorded=True),
)
async def decide_review(
    call: AsOperator, tenant: TenantInPath, review: ReviewInPath, body: DecisionBody
) -> ReviewResponse:
    """Record a decision and carry it out. Another decision is refused with `review_decided`."""
    decided = await call.context.services.moderation.reviews.decide(
        ReviewTarget(tenant, review),
        body.wanted,
        call.operator.id[:128],
        until_ms=body.until_ms,
        reason=body.reason,
    )
    return ReviewResponse.of(decided)


@router.get("/content-rules", **allow("get_content_rules", Role.SUPPORT, is_recorded=False))
async def get_content_rules(call: AsOperator, tenant: TenantInPath) -> ContentRulesBody:
    """Get the words and domains that messages must not contain."""
    return ContentRulesBody.of(await call.context.services.moderation.content_rules.read(tenant))


@router.put(
    "/content-rules",
    **allow("set_content_rules", Role.OPERATOR, needs_reason=True, is_recorded=True),
)
async def set_content_rules(
    call: AsOperator, tenant: TenantInPath, body: ContentRulesBody
) -> ContentRulesBody:
    """Replace the lists of words and domains. Processes use them within 30 seconds."""
    await call.context.services.moderation.content_rules.set(tenant, body.rules())
    return body
