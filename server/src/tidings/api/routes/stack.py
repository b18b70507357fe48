"""The first inbox API, address by address as its document writes it, over the same use cases.

The tenant in the address must be the credential's own: it decides nothing.
"""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from tidings.api.documented import OF_BODIES, route
from tidings.api.door import AsNoticesServer, AsUser, Bulk, Guarded
from tidings.api.keys import KeyHeader, optional_key
from tidings.api.routes.broadcasts import ANNOUNCE, OF_ANNOUNCING
from tidings.api.routes.inbox import BROADCASTS, STATES, shown_counts
from tidings.api.routes.inboxes import SEND
from tidings.api.schemas.notices import CountsShown, InboxInPath
from tidings.api.schemas.stack import (
    StackMark,
    StackNamed,
    StackNotice,
    StackRedacted,
    StackRow,
    StackRows,
    StackSent,
)
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.notices.model import Owner
from tidings.notices.read import MAX_PAGE

router = APIRouter(prefix="/stack", route_class=Guarded, tags=["stack"])
bulk = APIRouter(prefix="/stack", route_class=Bulk, tags=["stack"])

_ADMIN, _USERS = "/admin/v1/{tenant}/{inbox}/messages", "/users/v1/{tenant}/{inbox}/messages"
_UNKNOWN, _UNSURE, _CHANGED = Code.INBOX_NOT_FOUND, Code.OUTCOME_UNKNOWN, Code.CHANGED_MEANWHILE
_COUNTS = (
    *("inbox.read_config", "inbox.read_counts", "inbox.settle", "inbox.recount", "inbox.delete_rows"),
    *BROADCASTS,
)
_MARK = route(
    "stack_read",
    *OF_BODIES,
    _UNKNOWN,
    _UNSURE,
    _CHANGED,
    touches=(*_COUNTS, "inbox.read_row", "inbox.mark_row", "inbox.mark_all", "inbox.read_rows", *STATES),
    summary="Mark messages read, some or all before a time",
)

TenantInPath = Annotated[
    TenantId, Path(pattern=r"^[a-z0-9][a-z0-9-]{0,31}$", description="The caller's own tenant.")
]


@bulk.post(
    f"{_ADMIN}/post",
    **route(
        "stack_post",
        *OF_BODIES,
        *OF_ANNOUNCING,
        touches=(*SEND, *ANNOUNCE, "inbox.walk_directory"),
        summary="Send a message to specific users, to everyone or to a segment (admin)",
    ),
)
async def stack_post(
    call: AsNoticesServer, tenant: TenantInPath, inbox: InboxInPath, body: StackNotice, key: KeyHeader = None
) -> StackSent:
    """Named users get it by a job. To everyone, or to a segment, it is a broadcast: nothing is copied."""
    refuse_other(tenant, call.tenant)
    named = None if key is None else optional_key(key)
    if body.audiences.kind != "users":
        sent = await call.edge.services.notices.broadcast(call.tenant, inbox, body.wide_wish(), named)
        reach = await call.edge.services.notices.estimate(call.tenant, body.audiences.segment)
        return StackSent.of_broadcast(sent, reach)
    return StackSent.of(await call.edge.services.notices.send(call.tenant, inbox, body.wish(), named))


@router.delete(
    f"{_ADMIN}/redact",
    **route(
        "stack_redact",
        *OF_BODIES,
        Code.NOTICE_NOT_FOUND,
        _UNKNOWN,
        _UNSURE,
        _CHANGED,
        touches=(
            *("inbox.find_content", "inbox.redact_content", "jobs.create"),
            *("inbox.follow_broadcasts", "inbox.open_broadcasts", "inbox.append_broadcast"),
        ),
        summary="Redact a sent message (admin)",
    ),
)
async def stack_redact(
    call: AsNoticesServer, tenant: TenantInPath, inbox: InboxInPath, body: StackNamed
) -> StackRedacted:
    refuse_other(tenant, call.tenant)
    recalled = await call.edge.services.notices.recall.redact(call.tenant, inbox, body.id)
    return StackRedacted(id=recalled.notice, job=recalled.job or "")


@router.get(
    f"{_USERS}/last/{{limit}}",
    **route(
        "stack_last",
        _UNKNOWN,
        _CHANGED,
        Code.KEYS_UNAVAILABLE,
        Code.CONTENT_UNREADABLE,
        touches=(*_COUNTS, "inbox.read_rows", "inbox.read_content", "tenants.list_data_keys"),
        summary="The last messages of a user",
    )
    | {"response_model_exclude_none": False},
)
async def stack_last(
    call: AsUser,
    tenant: TenantInPath,
    inbox: InboxInPath,
    limit: Annotated[int, Path(ge=1, le=MAX_PAGE)],
) -> StackRows:
    """Most recent first, with the unread counts."""
    refuse_other(tenant, call.tenant)
    known = await call.services.notices.known.of(call.tenant, inbox)
    page = await call.services.notices.read.page(Owner(call.tenant, call.user, inbox), limit)
    rows = [StackRow.of(each, known, call.user) for each in page.notices]
    return StackRows(messages=rows, counts=CountsShown.of(page.sheet, known))


@router.put(f"{_USERS}/read/", **_MARK)
@router.put(f"{_USERS}/read", **_MARK, include_in_schema=False)
async def stack_read(
    call: AsUser, tenant: TenantInPath, inbox: InboxInPath, body: StackMark, response: Response
) -> CountsShown:
    """`{ids}`, or `{before, category?}` with a time in seconds."""
    refuse_other(tenant, call.tenant)
    services, owner = call.services.notices, Owner(call.tenant, call.user, inbox)
    known = await services.known.of(call.tenant, inbox)
    if body.ids is not None:
        sheet = await services.mark.read(owner, body.ids)
    else:
        category = None if body.category is None else known.code_of(body.category)
        sheet = await services.mark.read_all(owner, (body.before or 0) * 1000, category)
    return await shown_counts(call, inbox, sheet, response)


def refuse_other(named: TenantId, own: TenantId) -> None:
    if named != own:
        raise TidingsError(Code.FORBIDDEN, "The address names another tenant.")
