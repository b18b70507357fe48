"""What a tenant's server does with broadcasts: sends, steps, halts, asks beforehand. Recalls go as for any notice."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from tidings.api.documented import OF_BODIES, route
from tidings.api.door import AsNoticesServer, Guarded
from tidings.api.keys import KeyHeader, optional_key
from tidings.api.schemas.broadcasts import (
    BroadcastSent,
    BroadcastShown,
    EstimateAsked,
    EstimateShown,
    NewBroadcast,
    RampWanted,
    ReadersShown,
)
from tidings.api.schemas.chats import Listed
from tidings.api.schemas.notices import InboxInPath, NoticeInPath
from tidings.kernel.errors import Code
from tidings.kernel.ids import UserId
from tidings.notices.cost import price

router = APIRouter(prefix="/v1", route_class=Guarded, tags=["broadcasts"])

_UNKNOWN, _UNSURE = Code.INBOX_NOT_FOUND, Code.OUTCOME_UNKNOWN
_LOG = ("inbox.follow_broadcasts", "inbox.open_broadcasts")
_STEP = (*_LOG, "inbox.append_broadcast", "inbox.find_content")
ANNOUNCE = (
    *("inbox.read_config", "inbox.read_segment", "inbox.put_content", "jobs.claim_key", "jobs.create"),
    *("tenants.list_data_keys", *_STEP),
)
OF_ANNOUNCING = (
    *(Code.CONTENT_INVALID, Code.CONTENT_TOO_LARGE, Code.KEYS_UNAVAILABLE, Code.KEY_CONFLICT),
    *(_UNKNOWN, _UNSURE, Code.SEGMENT_NOT_FOUND, Code.NOTICE_NOT_FOUND),
)


@router.post(
    "/inboxes/{inbox}/broadcasts",
    **route(
        "send_broadcast",
        *OF_BODIES,
        *OF_ANNOUNCING,
        touches=ANNOUNCE,
        repeat=BroadcastSent,
        status_code=201,
        summary="Send a notice to everyone or to a segment (server)",
    ),
)
async def send_broadcast(
    call: AsNoticesServer, inbox: InboxInPath, body: NewBroadcast, response: Response, key: KeyHeader = None
) -> BroadcastSent:
    """201: committed. Every reader has it within a second, at once with `at_least`. 200: it was before."""
    named = None if key is None else optional_key(key)
    sent = await call.edge.services.notices.broadcast(call.tenant, inbox, body.wish(), named)
    if not sent.is_new:
        response.status_code = 200
    return BroadcastSent.of(sent)


@router.post(
    "/inboxes/{inbox}/broadcast-estimate",
    **route(
        "estimate_broadcast",
        *OF_BODIES,
        Code.SEGMENT_NOT_FOUND,
        touches=("inbox.read_segment", "inbox.walk_directory"),
        summary="How many a broadcast would reach, and what it would cost (server)",
    ),
)
async def estimate_broadcast(call: AsNoticesServer, inbox: InboxInPath, body: EstimateAsked) -> EstimateShown:
    """Sends and writes nothing."""
    _ = inbox
    reach = (await call.edge.services.notices.estimate(call.tenant, body.segment)).of_percent(body.percent)
    return EstimateShown.of(reach, price(reach.users))


@router.get(
    "/inboxes/{inbox}/broadcasts/{notice}",
    **route(
        "get_broadcast",
        Code.NOTICE_NOT_FOUND,
        touches=(*_LOG, "inbox.find_content"),
        summary="How far a broadcast is; the proof of its recall (server)",
    ),
)
async def get_broadcast(call: AsNoticesServer, inbox: InboxInPath, notice: NoticeInPath) -> BroadcastShown:
    broadcast = call.edge.services.notices.broadcast
    content = await broadcast.find(call.tenant, inbox, notice)
    return BroadcastShown.of(content, await broadcast.reached(call.tenant, inbox, notice))


@router.post(
    "/inboxes/{inbox}/broadcasts/{notice}/ramp",
    **route(
        "ramp_broadcast",
        *OF_BODIES,
        Code.NOTICE_NOT_FOUND,
        Code.NOTHING_TO_CHANGE,
        _UNSURE,
        touches=_STEP,
        summary="Show a broadcast to more of its users (server)",
    ),
)
async def ramp_broadcast(
    call: AsNoticesServer, inbox: InboxInPath, notice: NoticeInPath, body: RampWanted
) -> BroadcastShown:
    """For those who get it now it is new, whatever they have marked before."""
    broadcast = call.edge.services.notices.broadcast
    content = await broadcast.find(call.tenant, inbox, notice)
    return BroadcastShown.of(content, await broadcast.ramp(call.tenant, inbox, notice, body.percent))


@router.post(
    "/inboxes/{inbox}/broadcasts/{notice}/halt",
    **route(
        "halt_broadcast",
        Code.NOTICE_NOT_FOUND,
        Code.NOTHING_TO_CHANGE,
        _UNSURE,
        touches=_STEP,
        summary="No further step of a broadcast's ramp (server)",
    ),
)
async def halt_broadcast(call: AsNoticesServer, inbox: InboxInPath, notice: NoticeInPath) -> BroadcastShown:
    """For good, also those that are planned. Who has it keeps it; to take it back, recall it."""
    broadcast = call.edge.services.notices.broadcast
    content = await broadcast.find(call.tenant, inbox, notice)
    return BroadcastShown.of(content, await broadcast.halt(call.tenant, inbox, notice))


@router.get(
    "/inboxes/{inbox}/broadcasts/{notice}/readers",
    **route(
        "list_readers",
        Code.NOTICE_NOT_FOUND,
        Code.CURSOR_INVALID,
        touches=("inbox.find_content", "inbox.list_readers"),
        summary="Who has read a broadcast that was sent with `track_reads` (server)",
    ),
)
async def list_readers(
    call: AsNoticesServer, inbox: InboxInPath, notice: NoticeInPath, asked: Annotated[Listed, Query()]
) -> ReadersShown:
    """In the order of their names."""
    cursors = call.edge.cursors.of(call.tenant, None, "readers", inbox, notice)
    below = cursors.read(asked.cursor)
    page = await call.edge.services.notices.broadcast.readers(
        call.tenant, inbox, notice, asked.limit, None if below is None else UserId(below)
    )
    return ReadersShown.of(page, cursors.write(page.below))
