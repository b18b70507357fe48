"""Broadcasts, segments and profiles, for a tenant's server."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from tidings.api.auth import AsNotificationsServer, AuthenticatedRoute, BulkRoute
from tidings.api.openapi import OF_BODIES, route_options
from tidings.api.request_parsing import IdempotencyKeyHeader, optional_idempotency_key
from tidings.api.schemas.api_model import UserInPath
from tidings.api.schemas.broadcasts import (
    ActivateVersionBody,
    BroadcastCreatedResponse,
    BroadcastResponse,
    CreateBroadcastBody,
    EstimateBody,
    EstimateResponse,
    ProfileBody,
    ProfileResponse,
    RampBody,
    ReadersResponse,
    SegmentBody,
    SegmentInPath,
    SegmentResponse,
    SegmentsResponse,
    SegmentUsersBody,
)
from tidings.api.schemas.chats import PageParams
from tidings.api.schemas.notifications import InboxInPath, NotificationInPath
from tidings.inboxes.broadcasts.estimates import estimate_cost
from tidings.kernel.errors import Code
from tidings.kernel.ids import UserId

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
        summary="Send a broadcast",
    ),
)
async def send_broadcast(
    call: AsNotificationsServer,
    inbox: InboxInPath,
    body: CreateBroadcastBody,
    response: Response,
    key: IdempotencyKeyHeader = None,
) -> BroadcastCreatedResponse:
    """Send a notification to everyone in an inbox, or to a segment. Nothing is copied per user.

    Reads include it within a second, or at once with `at_least`. A retry with the same `Idempotency-Key` returns the
    first answer with status 200.
    """
    named = None if key is None else optional_idempotency_key(key)
    sent = await call.edge.services.notifications.broadcast.send(call.tenant, inbox, body.to_request(), named)
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
        summary="Estimate a broadcast",
    ),
)
async def estimate_broadcast(
    call: AsNotificationsServer, inbox: InboxInPath, body: EstimateBody
) -> EstimateResponse:
    """Estimate how many users a broadcast would reach and what it would cost. Sends nothing."""
    _ = inbox
    reach = (await call.edge.services.notifications.reach.estimate(call.tenant, body.segment)).of_percent(
        body.percent
    )
    return EstimateResponse.of(reach, estimate_cost(reach.users))


@router.get(
    "/inboxes/{inbox}/broadcasts/{notification}",
    **route_options(
        "get_broadcast",
        Code.NOTIFICATION_NOT_FOUND,
        touches=(*_LOG, "inbox.find_content"),
        summary="Get a broadcast",
    ),
)
async def get_broadcast(
    call: AsNotificationsServer, inbox: InboxInPath, notification: NotificationInPath
) -> BroadcastResponse:
    """Get the progress of a broadcast. After a recall, it also proves when the broadcast was no longer visible."""
    broadcast = call.edge.services.notifications.broadcast
    content = await broadcast.find(call.tenant, inbox, notification)
    return BroadcastResponse.of(content, await broadcast.status(call.tenant, inbox, notification))


@router.post(
    "/inboxes/{inbox}/broadcasts/{notification}/ramp",
    **route_options(
        "ramp_broadcast",
        *OF_BODIES,
        Code.NOTIFICATION_NOT_FOUND,
        Code.NO_CHANGE,
        _UNSURE,
        touches=_STEP,
        summary="Roll out a broadcast further",
    ),
)
async def ramp_broadcast(
    call: AsNotificationsServer, inbox: InboxInPath, notification: NotificationInPath, body: RampBody
) -> BroadcastResponse:
    """Show a broadcast to a larger share of its users. For the added users it is new and unread."""
    broadcast = call.edge.services.notifications.broadcast
    content = await broadcast.find(call.tenant, inbox, notification)
    return BroadcastResponse.of(content, await broadcast.ramp(call.tenant, inbox, notification, body.percent))


@router.post(
    "/inboxes/{inbox}/broadcasts/{notification}/halt",
    **route_options(
        "halt_broadcast",
        Code.NOTIFICATION_NOT_FOUND,
        Code.NO_CHANGE,
        _UNSURE,
        touches=_STEP,
        summary="Stop the rollout of a broadcast",
    ),
)
async def halt_broadcast(
    call: AsNotificationsServer, inbox: InboxInPath, notification: NotificationInPath
) -> BroadcastResponse:
    """Stop the rollout permanently, including planned steps.

    Users who already see the broadcast keep it. To remove it, recall the notification.
    """
    broadcast = call.edge.services.notifications.broadcast
    content = await broadcast.find(call.tenant, inbox, notification)
    return BroadcastResponse.of(content, await broadcast.halt(call.tenant, inbox, notification))


@router.get(
    "/inboxes/{inbox}/broadcasts/{notification}/readers",
    **route_options(
        "list_readers",
        Code.NOTIFICATION_NOT_FOUND,
        Code.CURSOR_INVALID,
        touches=("inbox.find_content", "inbox.list_readers"),
        summary="List readers of a broadcast",
    ),
)
async def list_readers(
    call: AsNotificationsServer,
    inbox: InboxInPath,
    notification: NotificationInPath,
    asked: Annotated[PageParams, Query()],
) -> ReadersResponse:
    """List the users who have read a broadcast, by id. It must have been sent with `track_reads`."""
    cursors = call.edge.cursors.of(call.tenant, None, "readers", inbox, notification)
    below = cursors.read(asked.cursor)
    page = await call.edge.services.notifications.broadcast.readers(
        call.tenant, inbox, notification, asked.limit, None if below is None else UserId(below)
    )
    return ReadersResponse.of(page, cursors.write(page.below))


segments_router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["segments"])
segments_bulk = APIRouter(prefix="/v1", route_class=BulkRoute, tags=["segments"])

_OF_CHANGES = (*OF_BODIES, Code.OUTCOME_UNKNOWN, Code.WRITE_CONFLICT)
_CHANGE = ("inbox.read_segment", "inbox.write_segment")
_SEGMENT_NOT_FOUND = Code.SEGMENT_NOT_FOUND


@segments_router.get(
    "/segments",
    **route_options(
        "list_segments", Code.CURSOR_INVALID, touches=("inbox.list_segments",), summary="List segments"
    ),
)
async def list_segments(
    call: AsNotificationsServer, asked: Annotated[PageParams, Query()]
) -> SegmentsResponse:
    """List the segments of the tenant, by name."""
    cursors = call.edge.cursors.of(call.tenant, None, "segments")
    after = cursors.read(asked.cursor)
    page = await call.edge.services.notifications.segments.listed(call.tenant, asked.limit, after)
    return SegmentsResponse.of(page, cursors.write(page.last))


@segments_router.get(
    "/segments/{segment}",
    **route_options(
        "get_segment", _SEGMENT_NOT_FOUND, touches=("inbox.read_segment",), summary="Get a segment"
    ),
)
async def get_segment(call: AsNotificationsServer, segment: SegmentInPath) -> SegmentResponse:
    """Get the definition of a segment."""
    return SegmentResponse.of(await call.edge.services.notifications.segments.read(call.tenant, segment))


@segments_router.put(
    "/segments/{segment}",
    **route_options(
        "set_segment",
        *_OF_CHANGES,
        touches=_CHANGE,
        summary="Create or replace a segment",
    ),
)
async def set_segment(
    call: AsNotificationsServer, segment: SegmentInPath, body: SegmentBody
) -> SegmentResponse:
    """Define a segment by a predicate. Every process applies the change within five seconds, also to live broadcasts."""
    segments = call.edge.services.notifications.segments
    return SegmentResponse.of(await segments.set_predicate(call.tenant, segment, body.predicate))


@segments_bulk.post(
    "/segments/{segment}/users",
    **route_options(
        "upload_segment_users",
        *_OF_CHANGES,
        touches=(*_CHANGE, "inbox.write_profile"),
        summary="Upload users of a list",
    ),
)
async def upload_segment_users(
    call: AsNotificationsServer, segment: SegmentInPath, body: SegmentUsersBody
) -> SegmentResponse:
    """Upload users to a new version of a list. The version has no effect until it is activated."""
    segments = call.edge.services.notifications.segments
    return SegmentResponse.of(await segments.upload(call.tenant, segment, body.users, body.version))


@segments_router.post(
    "/segments/{segment}/activate",
    **route_options(
        "activate_segment",
        _SEGMENT_NOT_FOUND,
        *_OF_CHANGES,
        touches=_CHANGE,
        summary="Activate a version of a list",
    ),
)
async def activate_segment(
    call: AsNotificationsServer, segment: SegmentInPath, body: ActivateVersionBody
) -> SegmentResponse:
    """Make a version of a list the active one, atomically for all its users. Activate the previous one to go back."""
    segments = call.edge.services.notifications.segments
    return SegmentResponse.of(await segments.activate(call.tenant, segment, body.version))


@segments_router.get(
    "/users/{user}/profile",
    **route_options(
        "get_profile",
        Code.USER_NOT_FOUND,
        touches=("inbox.read_profile",),
        summary="Get a user's profile",
    ),
)
async def get_profile(call: AsNotificationsServer, user: UserInPath) -> ProfileResponse:
    """Get the attributes of a user that segments select by."""
    return ProfileResponse.of(await call.edge.services.notifications.profile_service.read(call.tenant, user))


@segments_router.put(
    "/users/{user}/profile",
    **route_options(
        "set_profile",
        *OF_BODIES,
        Code.OUTCOME_UNKNOWN,
        Code.USER_NOT_FOUND,
        touches=("inbox.read_profile", "inbox.write_profile"),
        summary="Replace a user's profile",
    ),
)
async def set_profile(call: AsNotificationsServer, user: UserInPath, body: ProfileBody) -> ProfileResponse:
    """Set the attributes of a user that segments select by."""
    profiles = call.edge.services.notifications.profile_service
    return ProfileResponse.of(await profiles.set(call.tenant, user, body.attributes, body.created_ms))
