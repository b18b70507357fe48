"""Broadcasts with dry run, and segments."""

from typing import Annotated

from fastapi import APIRouter, Query

from tidings.api.console.policy import ConsoleRoute, allow
from tidings.api.console.session import AsOperator
from tidings.api.request_parsing import IdempotencyKeyHeader, optional_idempotency_key
from tidings.api.schemas.api_model import ApiModel, TenantInPath
from tidings.api.schemas.broadcasts import (
    ActivateVersionBody,
    BroadcastCreatedResponse,
    BroadcastResponse,
    CreateBroadcastBody,
    EstimateResponse,
    RampBody,
    SegmentBody,
    SegmentInPath,
    SegmentResponse,
    SegmentsResponse,
)
from tidings.api.schemas.chats import PageParams
from tidings.api.schemas.notifications import InboxInPath, NotificationInPath
from tidings.inboxes import message_schema
from tidings.inboxes.broadcasts.estimates import estimate_cost
from tidings.operators.model import Role

router = APIRouter(prefix="/admin/v1/tenants/{tenant}", route_class=ConsoleRoute, tags=["broadcasts"])
_PATH = "/inboxes/{inbox}/broadcasts"


class BroadcastSentResponse(ApiModel):
    """A broadcast, or the result of a dry run, which sends nothing."""

    dry_run: bool
    sent: BroadcastCreatedResponse | None = None
    estimate: EstimateResponse | None = None


@router.post(_PATH, **allow("send_broadcast", Role.OPERATOR, needs_reason=True, is_recorded=True))
async def send_broadcast(
    call: AsOperator,
    tenant: TenantInPath,
    inbox: InboxInPath,
    body: CreateBroadcastBody,
    *,
    dry_run: bool = False,
    key: IdempotencyKeyHeader = None,
) -> BroadcastSentResponse:
    """Send a broadcast, or estimate with `dry_run` how many users it would reach."""
    services, request = call.context.services.notifications, body.to_request()
    if not dry_run:
        named = None if key is None else optional_idempotency_key(key)
        sent = await services.broadcast.send(tenant, inbox, request, named)
        return BroadcastSentResponse(dry_run=False, sent=BroadcastCreatedResponse.of(sent))
    stored = await services.inboxes.read(tenant, inbox)
    await message_schema.check_payload(tenant, stored.schema, request.message)
    reach = await services.reach.estimate(tenant, request.segment)
    return BroadcastSentResponse(
        dry_run=True, estimate=EstimateResponse.of(reach, estimate_cost(reach.users))
    )


@router.get(f"{_PATH}/{{notification}}", **allow("get_broadcast", Role.VIEWER, is_recorded=False))
async def get_broadcast(
    call: AsOperator, tenant: TenantInPath, inbox: InboxInPath, notification: NotificationInPath
) -> BroadcastResponse:
    """Get the progress of a broadcast, and the time of its recall."""
    broadcast = call.context.services.notifications.broadcast
    content = await broadcast.find(tenant, inbox, notification)
    return BroadcastResponse.of(content, await broadcast.status(tenant, inbox, notification))


@router.post(
    f"{_PATH}/{{notification}}/ramp",
    **allow("ramp_broadcast", Role.OPERATOR, needs_reason=True, is_recorded=True),
)
async def ramp_broadcast(
    call: AsOperator,
    tenant: TenantInPath,
    inbox: InboxInPath,
    notification: NotificationInPath,
    body: RampBody,
) -> BroadcastResponse:
    """Show a broadcast to a larger share of its users."""
    broadcast = call.context.services.notifications.broadcast
    content = await broadcast.find(tenant, inbox, notification)
    return BroadcastResponse.of(content, await broadcast.ramp(tenant, inbox, notification, body.percent))


@router.post(
    f"{_PATH}/{{notification}}/halt",
    **allow("halt_broadcast", Role.OPERATOR, needs_reason=True, is_recorded=True),
)
async def halt_broadcast(
    call: AsOperator, tenant: TenantInPath, inbox: InboxInPath, notification: NotificationInPath
) -> BroadcastResponse:
    """Stop all further steps. Users who have the broadcast keep it."""
    broadcast = call.context.services.notifications.broadcast
    content = await broadcast.find(tenant, inbox, notification)
    return BroadcastResponse.of(content, await broadcast.halt(tenant, inbox, notification))


@router.get("/segments", **allow("list_segments", Role.VIEWER, is_recorded=False))
async def list_segments(
    call: AsOperator, tenant: TenantInPath, asked: Annotated[PageParams, Query()]
) -> SegmentsResponse:
    """List the segments of a tenant, by name."""
    cursors = call.context.cursors.of(tenant, None, f"segments {call.operator.id}")
    after = cursors.read(asked.cursor)
    page = await call.context.services.notifications.segments.listed(tenant, asked.limit, after)
    return SegmentsResponse.of(page, cursors.write(page.last))


@router.get("/segments/{segment}", **allow("get_segment", Role.VIEWER, is_recorded=False))
async def get_segment(call: AsOperator, tenant: TenantInPath, segment: SegmentInPath) -> SegmentResponse:
    """Get the definition of a segment."""
    return SegmentResponse.of(await call.context.services.notifications.segments.read(tenant, segment))


@router.put("/segments/{segment}", **allow("set_segment", Role.OPERATOR, is_recorded=True))
async def set_segment(
    call: AsOperator, tenant: TenantInPath, segment: SegmentInPath, body: SegmentBody
) -> SegmentResponse:
    """Define a segment by a predicate."""
    segments = call.context.services.notifications.segments
    return SegmentResponse.of(await segments.set_predicate(tenant, segment, body.predicate))


@router.post(
    "/segments/{segment}/activate",
    **allow("activate_segment", Role.OPERATOR, needs_reason=True, is_recorded=True),
)
async def activate_segment(
    call: AsOperator, tenant: TenantInPath, segment: SegmentInPath, body: ActivateVersionBody
) -> SegmentResponse:
    """Activate a version of a list: the newest, or the one before."""
    segments = call.context.services.notifications.segments
    return SegmentResponse.of(await segments.activate(tenant, segment, body.version))


@router.get("/segments/{segment}/reach", **allow("estimate_segment", Role.VIEWER, is_recorded=False))
async def estimate_segment(
    call: AsOperator, tenant: TenantInPath, segment: SegmentInPath
) -> EstimateResponse:
    """Estimate how many users are in a segment, and what a broadcast to them costs."""
    reach = await call.context.services.notifications.reach.estimate(tenant, segment)
    return EstimateResponse.of(reach, estimate_cost(reach.users))
