"""Inboxes, sends with dry run, jobs and recalls."""

from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Query

from tidings.api.console.policy import ConsoleRoute, allow
from tidings.api.console.session import AsOperator
from tidings.api.request_parsing import IdempotencyKeyHeader, optional_idempotency_key
from tidings.api.schemas.api_model import ApiModel, TenantInPath
from tidings.api.schemas.chats import PageParams
from tidings.api.schemas.inboxes import (
    InboxBody,
    InboxesResponse,
    InboxResponse,
    NotificationLookupResponse,
    NotificationRecalledResponse,
    NotificationSentResponse,
    RecallProofResponse,
    RecallProofsResponse,
    SendNotificationBody,
)
from tidings.api.schemas.jobs import JobInPath, JobResponse, JobsResponse
from tidings.api.schemas.notifications import InboxInPath, NotificationInPath
from tidings.inboxes import message_schema
from tidings.jobs.model import JobId
from tidings.kernel.errors import Code, TidingsError
from tidings.operators.model import Role

router = APIRouter(prefix="/admin/v1/tenants/{tenant}", route_class=ConsoleRoute, tags=["notifications"])
_UNKNOWN_SHOWN: Final = 20
_READ_AT_ONCE: Final = 100


class PreviewBody(ApiModel):
    """`payload_schema` replaces the stored schema of the inbox, to try one before it is set.

    Trying another schema than the stored one requires the role `operator`, as setting it does.
    """

    message: dict[str, Any]
    payload_schema: dict[str, Any] | None = None


class PreviewResponse(ApiModel):
    valid: bool
    error: str | None = None
    bytes: int


class SentResponse(ApiModel):
    """A send, or the result of a dry run, which sends nothing. `unknown_users` have no profile yet."""

    dry_run: bool
    total: int
    sent: NotificationSentResponse | None = None
    unknown_users: list[str] | None = None


@router.get("/inboxes", **allow("list_inboxes", Role.VIEWER, is_recorded=False))
async def list_inboxes(
    call: AsOperator, tenant: TenantInPath, asked: Annotated[PageParams, Query()]
) -> InboxesResponse:
    """List the inboxes of a tenant, by id."""
    cursors = call.context.cursors.of(tenant, None, f"inboxes {call.operator.id}")
    after = cursors.read(asked.cursor)
    page = await call.context.services.notifications.inboxes.listed(tenant, asked.limit, after)
    return InboxesResponse.of(page, cursors.write(page.last))


@router.get("/inboxes/{inbox}", **allow("get_inbox", Role.VIEWER, is_recorded=False))
async def get_inbox(call: AsOperator, tenant: TenantInPath, inbox: InboxInPath) -> InboxResponse:
    """Get the configuration of an inbox."""
    return InboxResponse.of(await call.context.services.notifications.inboxes.read(tenant, inbox))


@router.put("/inboxes/{inbox}", **allow("set_inbox", Role.OPERATOR, is_recorded=True))
async def set_inbox(
    call: AsOperator, tenant: TenantInPath, inbox: InboxInPath, body: InboxBody
) -> InboxResponse:
    """Create an inbox or replace its configuration."""
    services = call.context.services.notifications
    new = await services.defaults.read(tenant)
    changed = await services.inboxes.set(tenant, inbox, lambda before: body.to_spec(before or new))
    return InboxResponse.of(changed)


@router.post("/inboxes/{inbox}/preview", **allow("preview_message", Role.VIEWER, is_recorded=False))
async def preview_message(
    call: AsOperator, tenant: TenantInPath, inbox: InboxInPath, body: PreviewBody
) -> PreviewResponse:
    """Validate a message against the schema of the inbox, or against another one. Changes nothing."""
    stored = await call.context.services.notifications.inboxes.read(tenant, inbox)
    other = None if body.payload_schema == stored.schema else body.payload_schema
    if other is not None and not call.operator.role.includes(Role.OPERATOR):
        raise TidingsError(
            Code.FORBIDDEN, "Trying a schema that the inbox does not have requires the role `operator`."
        )
    size = len(msgspec.json.encode(body.message))
    try:
        if other is not None:
            message_schema.check_schema(other)
        await message_schema.check_payload(tenant, stored.schema if other is None else other, body.message)
    except TidingsError as error:
        if error.retryable:
            raise
        return PreviewResponse(valid=False, error=error.message, bytes=size)
    return PreviewResponse(valid=True, bytes=size)


@router.post(
    "/inboxes/{inbox}/notifications",
    **allow("send_notification", Role.OPERATOR, needs_reason=True, is_recorded=True),
)
async def send_notification(
    call: AsOperator,
    tenant: TenantInPath,
    inbox: InboxInPath,
    body: SendNotificationBody,
    *,
    dry_run: bool = False,
    key: IdempotencyKeyHeader = None,
) -> SentResponse:
    """Send a notification to users, or check with `dry_run` what would be sent."""
    services = call.context.services.notifications
    if not dry_run:
        named = None if key is None else optional_idempotency_key(key)
        sent = await services.sender.send(tenant, inbox, body.to_request(), named)
        return SentResponse(dry_run=False, total=sent.total, sent=NotificationSentResponse.of(sent))
    stored = await services.inboxes.read(tenant, inbox)
    await message_schema.check_payload(tenant, stored.schema, body.message)
    users = list(dict.fromkeys(body.user_ids))
    checked = users[:_READ_AT_ONCE]
    known = await call.context.services.users.read_many(tenant, checked)
    unknown: list[str] = [user for user in checked if user not in known]
    return SentResponse(dry_run=True, total=len(users), unknown_users=unknown[:_UNKNOWN_SHOWN])


@router.get(
    "/inboxes/{inbox}/notifications/{notification}",
    **allow("find_notification", Role.VIEWER, is_recorded=False),
)
async def find_notification(
    call: AsOperator, tenant: TenantInPath, inbox: InboxInPath, notification: NotificationInPath
) -> NotificationLookupResponse:
    """Get a sent notification, without its content."""
    found = await call.context.services.notifications.recall.find(tenant, inbox, notification)
    return NotificationLookupResponse.of(found)


@router.delete(
    "/inboxes/{inbox}/notifications/{notification}",
    **allow("recall_notification", Role.OPERATOR, needs_reason=True, is_recorded=True),
)
async def recall_notification(
    call: AsOperator, tenant: TenantInPath, inbox: InboxInPath, notification: NotificationInPath
) -> NotificationRecalledResponse:
    """Hide a notification or broadcast from all recipients at once."""
    recalled = await call.context.services.notifications.recall.redact(tenant, inbox, notification)
    return NotificationRecalledResponse.of(recalled)


@router.get(
    "/inboxes/{inbox}/notifications/{notification}/recipients",
    **allow("list_recipients", Role.SUPPORT, is_recorded=False),
)
async def list_recipients(
    call: AsOperator,
    tenant: TenantInPath,
    inbox: InboxInPath,
    notification: NotificationInPath,
    asked: Annotated[PageParams, Query()],
) -> RecallProofsResponse:
    """List the recipients with the times of delivery, reading and removal: the proof of a recall."""
    cursors = call.context.cursors.of(tenant, None, f"recipients {call.operator.id}", inbox, notification)
    chunk = int(cursors.read(asked.cursor) or 0)
    page = await call.context.services.notifications.prove.page(tenant, inbox, notification, chunk)
    end = None if page.next_chunk is None else str(page.next_chunk)
    return RecallProofsResponse(
        users=[RecallProofResponse.of(each) for each in page.proofs], cursor=cursors.write(end)
    )


@router.get("/jobs", **allow("list_jobs", Role.VIEWER, is_recorded=False))
async def list_jobs(
    call: AsOperator, tenant: TenantInPath, asked: Annotated[PageParams, Query()]
) -> JobsResponse:
    """List the jobs of a tenant, newest first, with rate and remaining time."""
    cursors = call.context.cursors.of(tenant, None, f"jobs {call.operator.id}")
    below = cursors.read(asked.cursor)
    page = await call.context.services.notifications.jobs.listed(
        tenant, asked.limit, None if below is None else JobId(below)
    )
    return JobsResponse(jobs=[JobResponse.of(each) for each in page.jobs], cursor=cursors.write(page.below))


@router.get("/jobs/{job}", **allow("get_job", Role.VIEWER, is_recorded=False))
async def get_job(call: AsOperator, tenant: TenantInPath, job: JobInPath) -> JobResponse:
    """Get the state and progress of a job."""
    return JobResponse.of(await call.context.services.notifications.jobs.progress(tenant, job))


@router.post("/jobs/{job}/pause", **allow("pause_job", Role.OPERATOR, is_recorded=True))
async def pause_job(call: AsOperator, tenant: TenantInPath, job: JobInPath) -> JobResponse:
    """Pause a job. Chunks in progress are completed."""
    return JobResponse.of(await call.context.services.notifications.jobs.pause(tenant, job))


@router.post("/jobs/{job}/resume", **allow("resume_job", Role.OPERATOR, is_recorded=True))
async def resume_job(call: AsOperator, tenant: TenantInPath, job: JobInPath) -> JobResponse:
    """Resume a paused job."""
    return JobResponse.of(await call.context.services.notifications.jobs.resume(tenant, job))


@router.post("/jobs/{job}/cancel", **allow("cancel_job", Role.OPERATOR, needs_reason=True, is_recorded=True))
async def cancel_job(call: AsOperator, tenant: TenantInPath, job: JobInPath) -> JobResponse:
    """Cancel a job permanently. Completed chunks are not undone."""
    return JobResponse.of(await call.context.services.notifications.jobs.cancel(tenant, job))
