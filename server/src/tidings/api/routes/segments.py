"""Who broadcasts are for: segments, and the profiles that they are asked of. For the tenant's server."""

from fastapi import APIRouter

from tidings.api.documented import OF_BODIES, route
from tidings.api.door import AsNoticesServer, Bulk, Guarded
from tidings.api.schemas.broadcasts import (
    ProfileShown,
    ProfileWanted,
    SegmentInPath,
    SegmentShown,
    SegmentsShown,
    SegmentWanted,
    UsersListed,
    VersionWanted,
)
from tidings.api.schemas.ids import UserInPath
from tidings.kernel.errors import Code

router = APIRouter(prefix="/v1", route_class=Guarded, tags=["segments"])
bulk = APIRouter(prefix="/v1", route_class=Bulk, tags=["segments"])

_OF_CHANGES = (*OF_BODIES, Code.OUTCOME_UNKNOWN, Code.CHANGED_MEANWHILE)
_CHANGE = ("inbox.read_segment", "inbox.write_segment")
_UNKNOWN = Code.SEGMENT_NOT_FOUND


@router.get(
    "/segments",
    **route("list_segments", touches=("inbox.list_segments",), summary="The tenant's segments (server)"),
)
async def list_segments(call: AsNoticesServer) -> SegmentsShown:
    found = await call.edge.services.notices.segments.listed(call.tenant)
    return SegmentsShown(segments=[SegmentShown.of(each) for each in found])


@router.get(
    "/segments/{segment}",
    **route("get_segment", _UNKNOWN, touches=("inbox.read_segment",), summary="A segment (server)"),
)
async def get_segment(call: AsNoticesServer, segment: SegmentInPath) -> SegmentShown:
    return SegmentShown.of(await call.edge.services.notices.segments.read(call.tenant, segment))


@router.put(
    "/segments/{segment}",
    **route(
        "set_segment",
        *_OF_CHANGES,
        touches=_CHANGE,
        summary="Make or change a segment by a predicate (server)",
    ),
)
async def set_segment(call: AsNoticesServer, segment: SegmentInPath, body: SegmentWanted) -> SegmentShown:
    """Holds in every process within five seconds, also for broadcasts that are live."""
    segments = call.edge.services.notices.segments
    return SegmentShown.of(await segments.set_predicate(call.tenant, segment, body.predicate))


@bulk.post(
    "/segments/{segment}/users",
    **route(
        "list_users_in_segment",
        *_OF_CHANGES,
        touches=(*_CHANGE, "inbox.write_profile"),
        summary="Upload users of a list (server)",
    ),
)
async def list_users_in_segment(
    call: AsNoticesServer, segment: SegmentInPath, body: UsersListed
) -> SegmentShown:
    """Nothing changes for anybody until the version is made the active one."""
    segments = call.edge.services.notices.segments
    return SegmentShown.of(await segments.upload(call.tenant, segment, body.users, body.version))


@router.post(
    "/segments/{segment}/activate",
    **route(
        "activate_segment",
        _UNKNOWN,
        *_OF_CHANGES,
        touches=_CHANGE,
        summary="Make a version of a list hold (server)",
    ),
)
async def activate_segment(
    call: AsNoticesServer, segment: SegmentInPath, body: VersionWanted
) -> SegmentShown:
    """At once for all of it, by one write; back to the version before in the same way."""
    segments = call.edge.services.notices.segments
    return SegmentShown.of(await segments.activate(call.tenant, segment, body.version))


@router.get(
    "/users/{user}/profile",
    **route(
        "get_profile",
        Code.USER_NOT_FOUND,
        touches=("inbox.read_profile",),
        summary="A user's profile (server)",
    ),
)
async def get_profile(call: AsNoticesServer, user: UserInPath) -> ProfileShown:
    return ProfileShown.of(await call.edge.services.notices.people.read(call.tenant, user))


@router.put(
    "/users/{user}/profile",
    **route(
        "set_profile",
        *OF_BODIES,
        Code.OUTCOME_UNKNOWN,
        Code.USER_NOT_FOUND,
        touches=("inbox.read_profile", "inbox.write_profile"),
        summary="Tell of a user what segments ask for (server)",
    ),
)
async def set_profile(call: AsNoticesServer, user: UserInPath, body: ProfileWanted) -> ProfileShown:
    people = call.edge.services.notices.people
    return ProfileShown.of(await people.set(call.tenant, user, body.attributes, body.created_ms))
