"""The original inbox API (`/stack/…`), on the same use cases.

The tenant in the path must be the tenant of the credential.
"""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from tidings.api.auth import AsNotificationsServer, AsUser, AuthenticatedRoute, BulkRoute
from tidings.api.openapi import EVENTS, OF_BODIES, route_options
from tidings.api.request_parsing import IdempotencyKeyHeader, optional_idempotency_key
from tidings.api.routes.broadcasts import ANNOUNCE, OF_ANNOUNCING
from tidings.api.routes.inboxes import SEND
from tidings.api.routes.notifications import BROADCASTS, STATES, counts_response
from tidings.api.schemas.api_model import TENANT
from tidings.api.schemas.legacy_inbox import (
    LegacyMarkBody,
    LegacyNotificationBody,
    LegacyNotificationIdBody,
    LegacyRedactedResponse,
    LegacyRow,
    LegacyRowsResponse,
    LegacySentResponse,
)
from tidings.api.schemas.notifications import CountsResponse, InboxInPath
from tidings.inboxes.model import InboxKey
from tidings.inboxes.queries import MAX_PAGE
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId

router = APIRouter(prefix="/stack", route_class=AuthenticatedRoute, tags=["legacy inbox"])
bulk = APIRouter(prefix="/stack", route_class=BulkRoute, tags=["legacy inbox"])

_ADMIN, _USERS = "/admin/v1/{tenant}/{inbox}/messages", "/users/v1/{tenant}/{inbox}/messages"
_UNKNOWN, _UNSURE, _CHANGED = Code.INBOX_NOT_FOUND, Code.OUTCOME_UNKNOWN, Code.WRITE_CONFLICT
_COUNTS = (
    *("inbox.read_config", "inbox.read_counts", "inbox.settle", "inbox.recount", "inbox.delete_rows"),
    *BROADCASTS,
)
_MARK = route_options(
    "legacy_mark_read",
    *OF_BODIES,
    _UNKNOWN,
    _UNSURE,
    _CHANGED,
    touches=(
        *_COUNTS,
        "inbox.read_row",
        "inbox.mark_row",
        "inbox.mark_all",
        "inbox.read_rows",
        *STATES,
        *EVENTS,
    ),
    summary="Mark messages as read",
)

TenantInPath = Annotated[TenantId, Path(pattern=TENANT, description="The tenant of the credential.")]


@bulk.post(
    f"{_ADMIN}/post",
    **route_options(
        "legacy_send",
        *OF_BODIES,
        *OF_ANNOUNCING,
        touches=(*SEND, *ANNOUNCE, "inbox.walk_directory"),
        summary="Send a message",
    ),
)
async def legacy_send(
    call: AsNotificationsServer,
    tenant: TenantInPath,
    inbox: InboxInPath,
    body: LegacyNotificationBody,
    key: IdempotencyKeyHeader = None,
) -> LegacySentResponse:
    """Send a message to specific users, to everyone, or to a segment.

    A job delivers it to specific users. To everyone or to a segment it is a broadcast: nothing is copied per user.
    """
    require_own_tenant(tenant, call.tenant)
    named = None if key is None else optional_idempotency_key(key)
    if body.audiences.kind != "users":
        sent = await call.edge.services.notifications.broadcast.send(
            call.tenant, inbox, body.to_broadcast_request(), named
        )
        reach = await call.edge.services.notifications.reach.estimate(call.tenant, body.audiences.segment)
        return LegacySentResponse.of_broadcast(sent, reach)
    return LegacySentResponse.of(
        await call.edge.services.notifications.sender.send(call.tenant, inbox, body.to_request(), named)
    )


@router.delete(
    f"{_ADMIN}/redact",
    **route_options(
        "legacy_redact",
        *OF_BODIES,
        Code.NOTIFICATION_NOT_FOUND,
        _UNKNOWN,
        _UNSURE,
        _CHANGED,
        touches=(
            *("inbox.find_content", "inbox.redact_content", "jobs.create"),
            *("inbox.follow_broadcasts", "inbox.open_broadcasts", "inbox.append_broadcast"),
        ),
        summary="Redact a sent message",
    ),
)
async def legacy_redact(
    call: AsNotificationsServer, tenant: TenantInPath, inbox: InboxInPath, body: LegacyNotificationIdBody
) -> LegacyRedactedResponse:
    """Hide a message from all recipients."""
    require_own_tenant(tenant, call.tenant)
    recalled = await call.edge.services.notifications.recall.redact(call.tenant, inbox, body.id)
    return LegacyRedactedResponse(id=recalled.notification, job=recalled.job or "")


@router.get(
    f"{_USERS}/last/{{limit}}",
    **route_options(
        "legacy_list",
        _UNKNOWN,
        _CHANGED,
        Code.KEYS_UNAVAILABLE,
        Code.DECRYPTION_FAILED,
        touches=(*_COUNTS, "inbox.read_rows", "inbox.read_content", "tenants.list_data_keys"),
        summary="List the latest messages",
    )
    | {"response_model_exclude_none": False},
)
async def legacy_list(
    call: AsUser,
    tenant: TenantInPath,
    inbox: InboxInPath,
    limit: Annotated[int, Path(ge=1, le=MAX_PAGE)],
) -> LegacyRowsResponse:
    """List the user's latest messages, newest first, with the unread counts."""
    require_own_tenant(tenant, call.tenant)
    known = await call.services.notifications.known.of(call.tenant, inbox)
    page = await call.services.notifications.read.page(InboxKey(call.tenant, call.user, inbox), limit)
    rows = [LegacyRow.of(each, known, call.user) for each in page.notifications]
    return LegacyRowsResponse(messages=rows, counts=CountsResponse.of(page.snapshot, known))


@router.put(f"{_USERS}/read/", **_MARK)
@router.put(f"{_USERS}/read", **_MARK, include_in_schema=False)
async def legacy_mark_read(
    call: AsUser, tenant: TenantInPath, inbox: InboxInPath, body: LegacyMarkBody, response: Response
) -> CountsResponse:
    """Mark messages as read: by `ids`, or all `before` a time in Unix seconds, optionally of one `category`."""
    require_own_tenant(tenant, call.tenant)
    services, owner = call.services.notifications, InboxKey(call.tenant, call.user, inbox)
    known = await services.known.of(call.tenant, inbox)
    if body.ids is not None:
        snapshot = await services.mark.read(owner, body.ids)
    else:
        category = None if body.category is None else known.code_of(body.category)
        snapshot = await services.mark.read_all(owner, (body.before or 0) * 1000, category)
    return await counts_response(call, inbox, snapshot, response)


def require_own_tenant(named: TenantId, own: TenantId) -> None:
    if named != own:
        raise TidingsError(Code.FORBIDDEN, "The path names another tenant than the credential.")
