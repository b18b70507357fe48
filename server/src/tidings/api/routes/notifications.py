"""A user's notifications: list, count, mark as read, archive."""

from typing import Annotated

from fastapi import APIRouter, Header, Query, Response

from tidings.api.auth import AsUser, AuthenticatedRoute, UserRequest
from tidings.api.openapi import EVENTS, OF_BODIES, route_options
from tidings.api.schemas.notifications import (
    AtLeast,
    CountsResponse,
    InboxInPath,
    MarkReadBody,
    NotificationIdsBody,
    NotificationsParams,
    NotificationsResponse,
    counts_etag,
)
from tidings.inboxes.model import InboxId, InboxKey, InboxSnapshot
from tidings.inboxes.queries import NotificationFilter
from tidings.kernel.errors import Code

router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["inbox"])

_UNKNOWN = Code.INBOX_NOT_FOUND
_AHEAD = Code.POSITION_AHEAD
_OF_MARKS = (*OF_BODIES, _UNKNOWN, _AHEAD, Code.OUTCOME_UNKNOWN, Code.WRITE_CONFLICT)
BROADCASTS = (
    *("inbox.follow_broadcasts", "inbox.open_broadcasts", "inbox.join"),
    *("inbox.read_profile", "inbox.read_segment"),
)
STATES = ("inbox.change_state", "inbox.mark_both", "inbox.note_reader")
_COUNTS = (
    *("inbox.read_config", "inbox.read_counts", "inbox.settle", "inbox.recount", "inbox.delete_rows"),
    *BROADCASTS,
)
_MARKS = (*_COUNTS, "inbox.read_row", "inbox.mark_row", *STATES)
_NOT_MODIFIED = 304


@router.get(
    "/inboxes/{inbox}/notifications",
    **route_options(
        "list_notifications",
        _UNKNOWN,
        _AHEAD,
        Code.CURSOR_INVALID,
        Code.KEYS_UNAVAILABLE,
        Code.DECRYPTION_FAILED,
        Code.WRITE_CONFLICT,
        touches=(*_COUNTS, "inbox.read_rows", "inbox.read_content", "tenants.list_data_keys"),
        summary="List notifications",
    ),
)
async def list_notifications(
    call: AsUser, inbox: InboxInPath, asked: Annotated[NotificationsParams, Query()]
) -> NotificationsResponse:
    """List the user's notifications, newest first, with the counts. Pages never repeat a notification."""
    known = await call.services.notifications.known.of(call.tenant, inbox)
    wanted = NotificationFilter(
        category=None if asked.category is None else known.code_of(asked.category),
        is_unread=asked.unread,
        is_archived=asked.archived,
    )
    cursors = call.cursors.of(call.tenant, call.user, "notifications", inbox, wanted)
    below = cursors.read(asked.cursor)
    page = await call.services.notifications.read.page(inbox_key(call, inbox), asked.limit, wanted, below)
    return NotificationsResponse.of(page, known, cursors.write(page.below))


_COUNTING = route_options(
    "count_notifications",
    _UNKNOWN,
    _AHEAD,
    Code.WRITE_CONFLICT,
    touches=_COUNTS,
    response_model=CountsResponse,
    summary="Get unread counts",
)
_COUNTING["responses"][_NOT_MODIFIED] = {
    "description": "The counts have not changed since the answer with this `ETag`."
}


@router.get("/inboxes/{inbox}/counts", **_COUNTING)
async def count_notifications(
    call: AsUser,
    inbox: InboxInPath,
    response: Response,
    if_none_match: Annotated[str | None, Header(description="The `ETag` of a previous answer.")] = None,
    at_least: AtLeast = 0,
) -> CountsResponse | Response:
    """Get the unread counts of an inbox, with an `ETag`. Returns 304 without a body if nothing has changed."""
    snapshot = await call.services.notifications.read.counts(inbox_key(call, inbox), at_least)
    if if_none_match == counts_etag(snapshot):
        return Response(status_code=_NOT_MODIFIED, headers={"etag": counts_etag(snapshot)})
    return await counts_response(call, inbox, snapshot, response)


@router.post(
    "/inboxes/{inbox}/read",
    **route_options(
        "mark_notifications_read",
        *_OF_MARKS,
        touches=(*_MARKS, "inbox.mark_all", "inbox.read_rows", *EVENTS),
        summary="Mark notifications as read",
    ),
)
async def mark_notifications_read(
    call: AsUser, inbox: InboxInPath, body: MarkReadBody, response: Response, at_least: AtLeast = 0
) -> CountsResponse:
    """Mark notifications as read: by `ids`, or all up to a time. Later notifications stay unread."""
    known, mark = (
        await call.services.notifications.known.of(call.tenant, inbox),
        call.services.notifications.mark,
    )
    owner = inbox_key(call, inbox)
    if body.ids is not None:
        snapshot = await mark.read(owner, body.ids, at_least)
    else:
        category = None if body.category is None else known.code_of(body.category)
        snapshot = await mark.read_all(owner, body.before_ms, category, at_least)
    return await counts_response(call, inbox, snapshot, response)


@router.post(
    "/inboxes/{inbox}/unread",
    **route_options(
        "mark_notifications_unread", *_OF_MARKS, touches=_MARKS, summary="Mark notifications as unread"
    ),
)
async def mark_notifications_unread(
    call: AsUser, inbox: InboxInPath, body: NotificationIdsBody, response: Response, at_least: AtLeast = 0
) -> CountsResponse:
    """Mark notifications as unread."""
    snapshot = await call.services.notifications.mark.reopen(inbox_key(call, inbox), body.ids, at_least)
    return await counts_response(call, inbox, snapshot, response)


@router.post(
    "/inboxes/{inbox}/seen",
    **route_options(
        "mark_notifications_seen",
        _UNKNOWN,
        _AHEAD,
        Code.OUTCOME_UNKNOWN,
        Code.WRITE_CONFLICT,
        touches=(*_COUNTS, "inbox.mark_all", *STATES),
        summary="Mark notifications as seen",
    ),
)
async def mark_notifications_seen(
    call: AsUser, inbox: InboxInPath, response: Response, at_least: AtLeast = 0
) -> CountsResponse:
    """Mark all current notifications as seen, for example when the user opens the inbox. Sets `unseen` to 0."""
    snapshot = await call.services.notifications.mark.see_all(inbox_key(call, inbox), at_least)
    return await counts_response(call, inbox, snapshot, response)


@router.post(
    "/inboxes/{inbox}/archive",
    **route_options("archive_notifications", *_OF_MARKS, touches=_MARKS, summary="Archive notifications"),
)
async def archive_notifications(
    call: AsUser, inbox: InboxInPath, body: NotificationIdsBody, response: Response, at_least: AtLeast = 0
) -> CountsResponse:
    """Move notifications to the archive. They are no longer listed or counted."""
    snapshot = await call.services.notifications.mark.archive(inbox_key(call, inbox), body.ids, at_least)
    return await counts_response(call, inbox, snapshot, response)


@router.post(
    "/inboxes/{inbox}/restore",
    **route_options(
        "restore_notifications", *_OF_MARKS, touches=_MARKS, summary="Restore notifications from the archive"
    ),
)
async def restore_notifications(
    call: AsUser, inbox: InboxInPath, body: NotificationIdsBody, response: Response, at_least: AtLeast = 0
) -> CountsResponse:
    """Move notifications back to the list. They keep their read state."""
    snapshot = await call.services.notifications.mark.restore(inbox_key(call, inbox), body.ids, at_least)
    return await counts_response(call, inbox, snapshot, response)


def inbox_key(call: UserRequest, inbox: InboxId) -> InboxKey:
    return InboxKey(call.tenant, call.user, inbox)


async def counts_response(
    call: UserRequest, inbox: InboxId, snapshot: InboxSnapshot, response: Response
) -> CountsResponse:
    response.headers["etag"] = counts_etag(snapshot)
    return CountsResponse.of(snapshot, await call.services.notifications.known.of(call.tenant, inbox))
