"""What a tenant's server does with broadcasts: sends, steps, halts, asks beforehand. Recalls go as for any notice."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from tidings.api.documented import OF_BODIES, route_options
from tidings.api.door import AsNotificationsServer, AuthenticatedRoute
from tidings.api.keys import IdempotencyKeyHeader, optional_idempotency_key
from tidings.api.schemas.broadcasts import (
    BroadcastCreatedResponse,
    BroadcastResponse,
    CreateBroadcastBody,
    EstimateBody,
    EstimateResponse,
    RampBody,
    ReadersResponse,
)
from tidings.api.schemas.chats import PageParams
from tidings.api.schemas.notices import InboxInPath, NotificationInPath
from tidings.kernel.errors import Code
from tidings.kernel.ids import UserId
from tidings.notices.cost import estimate_cost

router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["broadcasts"])

_BROADCAST_NOT_FOUND, _UNSURE = Code.INBOX_NOT_FOUND, Code.OUTCOME_UNKNOWN
_LOG = ("inbox.follow_broadcasts", "inbox.open_broadcasts")
_STEP = (*_LOG, "inbox.append_broadcast", "inbox.find_content")
ANNOUNCE = (
    *("inbox.read_config", "inbox.read_segment", "inbox.put_content", "jobs.claim_key", "jobs.create"),
    *("tenants.list_data_keys", *_STEP),
)
OF_ANNOUNCING = (
    *(Code.CONTENT_INVALID, Code.CONTENT_TOO_LARGE, Code.KEYS_UNAVAILABLE, Code.IDEMPOTENCY_CONFLICT),
    *(_BROADCAST_NOT_FOUND, _UNSURE, Code.SEGMENT_NOT_FOUND, Code.NOTIFICATION_NOT_FOUND),
)


@router.post(
    "/inboxes/{inbox}/broadcasts",
    **route_options(
        "send_broadcast",
        *OF_BODIES,
        *OF_ANNOUNCING,
        touches=ANNOUNCE,
        repeat=BroadcastCreatedResponse,
        status_code=201,
        summary="Send a notice to everyone or to a segment (server)",
    ),
)
async def send_broadcast(
    call: AsNotificationsServer,
    inbox: InboxInPath,
    body: CreateBroadcastBody,
    response: Response,
    key: IdempotencyKeyHeader = None,
) -> BroadcastCreatedResponse:
    """201: committed. Every reader has it within a second, at once with `at_least`. 200: it was before."""
    named = None if key is None else optional_idempotency_key(key)
    sent = await call.edge.services.notifications.broadcast(call.tenant, inbox, body.to_request(), named)
    if not sent.is_new:
        response.status_code = 200
    return BroadcastCreatedResponse.of(sent)


@router.post(
    "/inboxes/{inbox}/broadcast-estimate",
    **route_options(
        "estimate_broadcast",
        *OF_BODIES,
        Code.SEGMENT_NOT_FOUND,
        touches=("inbox.read_segment", "inbox.walk_directory"),
        summary="How many a broadcast would reach, and what it would cost (server)",
    ),
)
async def estimate_broadcast(
    call: AsNotificationsServer, inbox: InboxInPath, body: EstimateBody
) -> EstimateResponse:
    """Sends and writes nothing."""
    _ = inbox
    reach = (await call.edge.services.notifications.estimate(call.tenant, body.segment)).of_percent(
        body.percent
    )
    return EstimateResponse.of(reach, estimate_cost(reach.users))


@router.get(
    "/inboxes/{inbox}/broadcasts/{notice}",
    **route_options(
        "get_broadcast",
        Code.NOTIFICATION_NOT_FOUND,
        touches=(*_LOG, "inbox.find_content"),
        summary="How far a broadcast is; the proof of its recall (server)",
    ),
)
async def get_broadcast(
    call: AsNotificationsServer, inbox: InboxInPath, notice: NotificationInPath
) -> BroadcastResponse:
    broadcast = call.edge.services.notifications.broadcast
    content = await broadcast.find(call.tenant, inbox, notice)
    return BroadcastResponse.of(content, await broadcast.status(call.tenant, inbox, notice))


@router.post(
    "/inboxes/{inbox}/broadcasts/{notice}/ramp",
    **route_options(
        "ramp_broadcast",
        *OF_BODIES,
        Code.NOTIFICATION_NOT_FOUND,
        Code.NO_CHANGE,
        _UNSURE,
        touches=_STEP,
        summary="Show a broadcast to more of its users (server)",
    ),
)
async def ramp_broadcast(
    call: AsNotificationsServer, inbox: InboxInPath, notice: NotificationInPath, body: RampBody
) -> BroadcastResponse:
    """For those who get it now it is new, whatever they have marked before."""
    broadcast = call.edge.services.notifications.broadcast
    content = await broadcast.find(call.tenant, inbox, notice)
    return BroadcastResponse.of(content, await broadcast.ramp(call.tenant, inbox, notice, body.percent))


@router.post(
    "/inboxes/{inbox}/broadcasts/{notice}/halt",
    **route_options(
        "halt_broadcast",
        Code.NOTIFICATION_NOT_FOUND,
        Code.NO_CHANGE,
        _UNSURE,
        touches=_STEP,
        summary="No further step of a broadcast's ramp (server)",
    ),
)
async def halt_broadcast(
    call: AsNotificationsServer, inbox: InboxInPath, notice: NotificationInPath
) -> BroadcastResponse:
    """For good, also those that are planned. Who has it keeps it; to take it back, recall it."""
    broadcast = call.edge.services.notifications.broadcast
    content = await broadcast.find(call.tenant, inbox, notice)
    return BroadcastResponse.of(content, await broadcast.halt(call.tenant, inbox, notice))


@router.get(
    "/inboxes/{inbox}/broadcasts/{notice}/readers",
    **route_options(
        "list_readers",
        Code.NOTIFICATION_NOT_FOUND,
        Code.CURSOR_INVALID,
        touches=("inbox.find_content", "inbox.list_readers"),
        summary="Who has read a broadcast that was sent with `track_reads` (server)",
    ),
)
async def list_readers(
    call: AsNotificationsServer,
    inbox: InboxInPath,
    notice: NotificationInPath,
    asked: Annotated[PageParams, Query()],
) -> ReadersResponse:
    """In the order of their names."""
    cursors = call.edge.cursors.of(call.tenant, None, "readers", inbox, notice)
    below = cursors.read(asked.cursor)
    page = await call.edge.services.notifications.broadcast.readers(
        call.tenant, inbox, notice, asked.limit, None if below is None else UserId(below)
    )
    return ReadersResponse.of(page, cursors.write(page.below))
