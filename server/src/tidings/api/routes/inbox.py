"""One's notices: lists, counts, marks. In the name of a user."""

from typing import Annotated

from fastapi import APIRouter, Header, Query, Response

from tidings.api.documented import OF_BODIES, route
from tidings.api.door import AsUser, Guarded, UserCall
from tidings.api.schemas.notices import (
    AtLeast,
    CountsShown,
    InboxInPath,
    NoticesAsked,
    NoticesNamed,
    NoticesShown,
    ReadMark,
    etag_of,
)
from tidings.kernel.errors import Code
from tidings.notices.model import InboxId, Owner, Sheet
from tidings.notices.read import Filter

router = APIRouter(prefix="/v1", route_class=Guarded, tags=["inbox"])

_UNKNOWN = Code.INBOX_NOT_FOUND
_AHEAD = Code.AFTER_ABOVE_HEAD
_OF_MARKS = (*OF_BODIES, _UNKNOWN, _AHEAD, Code.OUTCOME_UNKNOWN, Code.CHANGED_MEANWHILE)
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
    "/inboxes/{inbox}/notices",
    **route(
        "list_notices",
        _UNKNOWN,
        _AHEAD,
        Code.CURSOR_INVALID,
        Code.KEYS_UNAVAILABLE,
        Code.CONTENT_UNREADABLE,
        Code.CHANGED_MEANWHILE,
        touches=(*_COUNTS, "inbox.read_rows", "inbox.read_content", "tenants.list_data_keys"),
        summary="One's notices",
    ),
)
async def list_notices(
    call: AsUser, inbox: InboxInPath, asked: Annotated[NoticesAsked, Query()]
) -> NoticesShown:
    """Newest first, with the counts. A page never repeats what an earlier one had."""
    known = await call.services.notices.known.of(call.tenant, inbox)
    wanted = Filter(
        category=None if asked.category is None else known.code_of(asked.category),
        is_unread=asked.unread,
        is_archived=asked.archived,
    )
    cursors = call.cursors.of(call.tenant, call.user, "notices", inbox, wanted)
    below = cursors.read(asked.cursor)
    page = await call.services.notices.read.page(owner_of(call, inbox), asked.limit, wanted, below)
    return NoticesShown.of(page, known, cursors.write(page.below))


_COUNTING = route(
    "count_notices",
    _UNKNOWN,
    _AHEAD,
    Code.CHANGED_MEANWHILE,
    touches=_COUNTS,
    response_model=CountsShown,
    summary="What is unread",
)
_COUNTING["responses"][_NOT_MODIFIED] = {"description": "Nothing changed since the answer with this `ETag`."}


@router.get("/inboxes/{inbox}/counts", **_COUNTING)
async def count_notices(
    call: AsUser,
    inbox: InboxInPath,
    response: Response,
    if_none_match: Annotated[str | None, Header(description="The `ETag` of an earlier answer.")] = None,
    at_least: AtLeast = 0,
) -> CountsShown | Response:
    """With an `ETag`; answered by 304 and no body where nothing changed."""
    sheet = await call.services.notices.read.counts(owner_of(call, inbox), at_least)
    if if_none_match == etag_of(sheet):
        return Response(status_code=_NOT_MODIFIED, headers={"etag": etag_of(sheet)})
    return await shown_counts(call, inbox, sheet, response)


@router.post(
    "/inboxes/{inbox}/read",
    **route(
        "read_notices",
        *_OF_MARKS,
        touches=(*_MARKS, "inbox.mark_all", "inbox.read_rows"),
        summary="Mark notices read",
    ),
)
async def read_notices(
    call: AsUser, inbox: InboxInPath, body: ReadMark, response: Response, at_least: AtLeast = 0
) -> CountsShown:
    """Some, or all up to a time. What comes later is never read by it."""
    known, mark = await call.services.notices.known.of(call.tenant, inbox), call.services.notices.mark
    owner = owner_of(call, inbox)
    if body.ids is not None:
        sheet = await mark.read(owner, body.ids, at_least)
    else:
        category = None if body.category is None else known.code_of(body.category)
        sheet = await mark.read_all(owner, body.before_ms, category, at_least)
    return await shown_counts(call, inbox, sheet, response)


@router.post(
    "/inboxes/{inbox}/unread",
    **route("unread_notices", *_OF_MARKS, touches=_MARKS, summary="Mark notices unread again"),
)
async def unread_notices(
    call: AsUser, inbox: InboxInPath, body: NoticesNamed, response: Response, at_least: AtLeast = 0
) -> CountsShown:
    sheet = await call.services.notices.mark.reopen(owner_of(call, inbox), body.ids, at_least)
    return await shown_counts(call, inbox, sheet, response)


@router.post(
    "/inboxes/{inbox}/seen",
    **route(
        "see_notices",
        _UNKNOWN,
        _AHEAD,
        Code.OUTCOME_UNKNOWN,
        Code.CHANGED_MEANWHILE,
        touches=(*_COUNTS, "inbox.mark_all", *STATES),
        summary="One has looked at the inbox",
    ),
)
async def see_notices(
    call: AsUser, inbox: InboxInPath, response: Response, at_least: AtLeast = 0
) -> CountsShown:
    """What is there now is no news any more, read or not: `unseen` is 0."""
    sheet = await call.services.notices.mark.see_all(owner_of(call, inbox), at_least)
    return await shown_counts(call, inbox, sheet, response)


@router.post(
    "/inboxes/{inbox}/archive",
    **route("archive_notices", *_OF_MARKS, touches=_MARKS, summary="Put notices into the archive"),
)
async def archive_notices(
    call: AsUser, inbox: InboxInPath, body: NoticesNamed, response: Response, at_least: AtLeast = 0
) -> CountsShown:
    """They leave the list and the counts."""
    sheet = await call.services.notices.mark.archive(owner_of(call, inbox), body.ids, at_least)
    return await shown_counts(call, inbox, sheet, response)


@router.post(
    "/inboxes/{inbox}/restore",
    **route("restore_notices", *_OF_MARKS, touches=_MARKS, summary="Take notices out of the archive"),
)
async def restore_notices(
    call: AsUser, inbox: InboxInPath, body: NoticesNamed, response: Response, at_least: AtLeast = 0
) -> CountsShown:
    """As read or unread as they were."""
    sheet = await call.services.notices.mark.restore(owner_of(call, inbox), body.ids, at_least)
    return await shown_counts(call, inbox, sheet, response)


def owner_of(call: UserCall, inbox: InboxId) -> Owner:
    return Owner(call.tenant, call.user, inbox)


async def shown_counts(call: UserCall, inbox: InboxId, sheet: Sheet, response: Response) -> CountsShown:
    response.headers["etag"] = etag_of(sheet)
    return CountsShown.of(sheet, await call.services.notices.known.of(call.tenant, inbox))
