"""Who broadcasts are for: segments, and the profiles that they are asked of. For the tenant's server."""

from fastapi import APIRouter

from tidings.api.documented import OF_BODIES, route_options
from tidings.api.door import AsNotificationsServer, AuthenticatedRoute, BulkRoute
from tidings.api.schemas.broadcasts import (
    ActivateVersionBody,
    ProfileBody,
    ProfileResponse,
    SegmentBody,
    SegmentInPath,
    SegmentResponse,
    SegmentsResponse,
    SegmentUsersBody,
)
from tidings.api.schemas.ids import UserInPath
from tidings.kernel.errors import Code

segments_router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["segments"])
segments_bulk = APIRouter(prefix="/v1", route_class=BulkRoute, tags=["segments"])

_OF_CHANGES = (*OF_BODIES, Code.OUTCOME_UNKNOWN, Code.WRITE_CONFLICT)
_CHANGE = ("inbox.read_segment", "inbox.write_segment")
_SEGMENT_NOT_FOUND = Code.SEGMENT_NOT_FOUND


@segments_router.get(
    "/segments",
    **route_options(
        "list_segments", touches=("inbox.list_segments",), summary="The tenant's segments (server)"
    ),
)
async def list_segments(call: AsNotificationsServer) -> SegmentsResponse:
    found = await call.edge.services.notifications.segments.listed(call.tenant)
    return SegmentsResponse(segments=[SegmentResponse.of(each) for each in found])


@segments_router.get(
    "/segments/{segment}",
    **route_options(
        "get_segment", _SEGMENT_NOT_FOUND, touches=("inbox.read_segment",), summary="A segment (server)"
    ),
)
async def get_segment(call: AsNotificationsServer, segment: SegmentInPath) -> SegmentResponse:
    return SegmentResponse.of(await call.edge.services.notifications.segments.read(call.tenant, segment))


@segments_router.put(
    "/segments/{segment}",
    **route_options(
        "set_segment",
        *_OF_CHANGES,
        touches=_CHANGE,
        summary="Make or change a segment by a predicate (server)",
    ),
)
async def set_segment(
    call: AsNotificationsServer, segment: SegmentInPath, body: SegmentBody
) -> SegmentResponse:
    """Holds in every process within five seconds, also for broadcasts that are live."""
    segments = call.edge.services.notifications.segments
    return SegmentResponse.of(await segments.set_predicate(call.tenant, segment, body.predicate))


@segments_bulk.post(
    "/segments/{segment}/users",
    **route_options(
        "list_users_in_segment",
        *_OF_CHANGES,
        touches=(*_CHANGE, "inbox.write_profile"),
        summary="Upload users of a list (server)",
    ),
)
async def list_users_in_segment(
    call: AsNotificationsServer, segment: SegmentInPath, body: SegmentUsersBody
) -> SegmentResponse:
    """Nothing changes for anybody until the version is made the active one."""
    segments = call.edge.services.notifications.segments
    return SegmentResponse.of(await segments.upload(call.tenant, segment, body.users, body.version))


@segments_router.post(
    "/segments/{segment}/activate",
    **route_options(
        "activate_segment",
        _SEGMENT_NOT_FOUND,
        *_OF_CHANGES,
        touches=_CHANGE,
        summary="Make a version of a list hold (server)",
    ),
)
async def activate_segment(
    call: AsNotificationsServer, segment: SegmentInPath, body: ActivateVersionBody
) -> SegmentResponse:
    """At once for all of it, by one write; back to the version before in the same way."""
    segments = call.edge.services.notifications.segments
    return SegmentResponse.of(await segments.activate(call.tenant, segment, body.version))


@segments_router.get(
    "/users/{user}/profile",
    **route_options(
        "get_profile",
        Code.USER_NOT_FOUND,
        touches=("inbox.read_profile",),
        summary="A user's profile (server)",
    ),
)
async def get_profile(call: AsNotificationsServer, user: UserInPath) -> ProfileResponse:
    return ProfileResponse.of(await call.edge.services.notifications.profile_service.read(call.tenant, user))


@segments_router.put(
    "/users/{user}/profile",
    **route_options(
        "set_profile",
        *OF_BODIES,
        Code.OUTCOME_UNKNOWN,
        Code.USER_NOT_FOUND,
        touches=("inbox.read_profile", "inbox.write_profile"),
        summary="Tell of a user what segments ask for (server)",
    ),
)
async def set_profile(call: AsNotificationsServer, user: UserInPath, body: ProfileBody) -> ProfileResponse:
    people = call.edge.services.notifications.profile_service
    return ProfileResponse.of(await people.set(call.tenant, user, body.attributes, body.created_ms))
