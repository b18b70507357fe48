"""Inboxes, notifications and jobs, for a tenant's server."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from tidings.api.auth import AsNotificationsServer, AuthenticatedRoute, BulkRoute
from tidings.api.openapi import OF_BODIES, route_options
from tidings.api.rate_limits import charge_recipients
from tidings.api.request_parsing import IdempotencyKeyHeader, optional_idempotency_key
from tidings.api.routes.notifications import BROADCASTS
from tidings.api.schemas.api_model import UserInPath
from tidings.api.schemas.chats import PageParams
from tidings.api.schemas.inbox_defaults import InboxDefaultsBody, InboxDefaultsResponse
from tidings.api.schemas.inboxes import (
    AmendNotificationBody,
    HostInPath,
    InboxBody,
    InboxesResponse,
    InboxResponse,
    NotificationAmendedResponse,
    NotificationLookupResponse,
    NotificationRecalledResponse,
    NotificationSentResponse,
    RecallProofResponse,
    RecallProofsResponse,
    SendNotificationBody,
)
from tidings.api.schemas.jobs import JobInPath, JobResponse, JobsResponse
from tidings.api.schemas.notifications import ExplainCountsResponse, InboxInPath, NotificationInPath
from tidings.inboxes.model import InboxKey
from tidings.jobs.model import JobId
from tidings.kernel.errors import Code

router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["inboxes"])
bulk = APIRouter(prefix="/v1", route_class=BulkRoute, tags=["inboxes"])

_UNKNOWN, _UNSURE, _CHANGED = Code.INBOX_NOT_FOUND, Code.OUTCOME_UNKNOWN, Code.WRITE_CONFLICT
_OF_NOTIFICATIONS = (Code.NOTIFICATION_NOT_FOUND, _UNKNOWN)
_OF_CONTENT = (Code.CONTENT_INVALID, Code.CONTENT_TOO_LARGE, Code.KEYS_UNAVAILABLE)
_KEYS = ("tenants.list_data_keys",)
SEND = (
    *("inbox.read_config", "inbox.put_content", "jobs.claim_key", "jobs.put_chunks", "jobs.create"),
    *_KEYS,
)


@router.get(
    "/inboxes",
    **route_options(
        "list_inboxes", Code.CURSOR_INVALID, touches=("inbox.list_configs",), summary="List inboxes"
    ),
)
async def list_inboxes(call: AsNotificationsServer, asked: Annotated[PageParams, Query()]) -> InboxesResponse:
    """List the inboxes of the tenant, by id."""
    cursors = call.edge.cursors.of(call.tenant, None, "inboxes")
    after = cursors.read(asked.cursor)
    page = await call.edge.services.notifications.inboxes.listed(call.tenant, asked.limit, after)
    return InboxesResponse.of(page, cursors.write(page.last))


@router.get(
    "/inboxes/{inbox}",
    **route_options("get_inbox", _UNKNOWN, touches=("inbox.read_config",), summary="Get an inbox"),
)
async def get_inbox(call: AsNotificationsServer, inbox: InboxInPath) -> InboxResponse:
    """Get the configuration of an inbox."""
    return InboxResponse.of(await call.edge.services.notifications.inboxes.read(call.tenant, inbox))


@router.put(
    "/inboxes/{inbox}",
    **route_options(
        "set_inbox",
        *OF_BODIES,
        _UNSURE,
        _CHANGED,
        touches=("inbox.read_settings", "inbox.read_config", "inbox.write_config"),
        summary="Create or replace an inbox",
    ),
)
async def set_inbox(call: AsNotificationsServer, inbox: InboxInPath, body: InboxBody) -> InboxResponse:
    """Create an inbox or replace its configuration. Every process applies the change within five seconds."""
    notifications = call.edge.services.notifications
    new = await notifications.defaults.read(call.tenant)
    return InboxResponse.of(
        await notifications.inboxes.set(call.tenant, inbox, lambda before: body.to_spec(before or new))
    )


@router.get(
    "/inbox-defaults",
    **route_options(
        "get_inbox_defaults",
        touches=("inbox.read_settings",),
        summary="Get inbox defaults",
    ),
)
async def get_inbox_defaults(call: AsNotificationsServer) -> InboxDefaultsResponse:
    """Get the values that new inboxes of the tenant start with."""
    return InboxDefaultsResponse.of(await call.edge.services.notifications.defaults.read(call.tenant))


@router.put(
    "/inbox-defaults",
    **route_options(
        "set_inbox_defaults",
        *OF_BODIES,
        _UNSURE,
        _CHANGED,
        touches=("inbox.read_settings", "inbox.write_settings"),
        summary="Replace inbox defaults",
    ),
)
async def set_inbox_defaults(call: AsNotificationsServer, body: InboxDefaultsBody) -> InboxDefaultsResponse:
    """Set the values that new inboxes start with. Existing inboxes do not change."""
    wanted = body.to_defaults()
    return InboxDefaultsResponse.of(
        await call.edge.services.notifications.defaults.set(call.tenant, lambda _: wanted)
    )


@bulk.post(
    "/inboxes/{inbox}/notifications",
    **route_options(
        "send_notification",
        *OF_BODIES,
        *_OF_CONTENT,
        _UNKNOWN,
        _UNSURE,
        Code.IDEMPOTENCY_CONFLICT,
        touches=SEND,
        repeat=NotificationSentResponse,
        status_code=201,
        summary="Send a notification",
    ),
)
async def send_notification(
    call: AsNotificationsServer,
    inbox: InboxInPath,
    body: SendNotificationBody,
    response: Response,
    key: IdempotencyKeyHeader = None,
) -> NotificationSentResponse:
    """Send a notification to up to 100,000 users. Once committed, a job delivers it to each of them.

    A retry with the same `Idempotency-Key` returns the first answer with status 200.
    """
    named = None if key is None else optional_idempotency_key(key)
    await charge_recipients(call.edge.services.limits, call.tenant, len(body.user_ids))
    sent = await call.edge.services.notifications.sender.send(call.tenant, inbox, body.to_request(), named)
    if not sent.is_new:
        response.status_code = 200
    return NotificationSentResponse.of(sent)


@router.get(
    "/inboxes/{inbox}/sent/{host_system_id}",
    **route_options(
        "find_notification",
        *_OF_NOTIFICATIONS,
        touches=("inbox.read_config", "jobs.find_key", "inbox.find_content"),
        summary="Find a notification by your own id",
    ),
)
async def find_notification(
    call: AsNotificationsServer, inbox: InboxInPath, host_system_id: HostInPath
) -> NotificationLookupResponse:
    """Find a notification by its `host_system_id`. It must have been sent with `is_unique`."""
    recall = call.edge.services.notifications.recall
    notification = await recall.by_host_id(call.tenant, inbox, host_system_id)
    return NotificationLookupResponse.of(await recall.find(call.tenant, inbox, notification))


@router.patch(
    "/inboxes/{inbox}/notifications/{notification}",
    **route_options(
        "amend_notification",
        *OF_BODIES,
        *_OF_NOTIFICATIONS,
        *_OF_CONTENT,
        _UNSURE,
        _CHANGED,
        Code.NO_CHANGE,
        touches=("inbox.read_config", "inbox.find_content", "inbox.amend_content", "jobs.create", *_KEYS),
        summary="Change the content of a notification",
    ),
)
async def amend_notification(
    call: AsNotificationsServer,
    inbox: InboxInPath,
    notification: NotificationInPath,
    body: AmendNotificationBody,
) -> NotificationAmendedResponse:
    """Replace the message of a notification for all recipients at once. Whether they have read it does not change.

    A job notifies connected devices.
    """
    amended = await call.edge.services.notifications.recall.amend(
        call.tenant, inbox, notification, body.message
    )
    return NotificationAmendedResponse.of(amended)


@router.delete(
    "/inboxes/{inbox}/notifications/{notification}",
    **route_options(
        "redact_notification",
        *_OF_NOTIFICATIONS,
        _UNSURE,
        _CHANGED,
        touches=(
            *("inbox.find_content", "inbox.redact_content", "jobs.create"),
            *("inbox.follow_broadcasts", "inbox.open_broadcasts", "inbox.append_broadcast"),
        ),
        summary="Recall a notification",
    ),
)
async def redact_notification(
    call: AsNotificationsServer, inbox: InboxInPath, notification: NotificationInPath
) -> NotificationRecalledResponse:
    """Hide a notification from all recipients at once.

    A job removes it from their counts. A recalled broadcast leaves the counts within a second.
    """
    return NotificationRecalledResponse.of(
        await call.edge.services.notifications.recall.redact(call.tenant, inbox, notification)
    )


@router.get(
    "/inboxes/{inbox}/notifications/{notification}/recipients",
    **route_options(
        "list_recipients",
        *_OF_NOTIFICATIONS,
        Code.CURSOR_INVALID,
        touches=("inbox.find_content", "jobs.read_chunk", "inbox.prove_recall"),
        summary="List recipients of a notification",
    ),
)
async def list_recipients(
    call: AsNotificationsServer,
    inbox: InboxInPath,
    notification: NotificationInPath,
    asked: Annotated[PageParams, Query()],
) -> RecallProofsResponse:
    """List the recipients in the order of the request, 100 per page.

    For each recipient: when it was delivered, when it was read, and when a recall removed it.
    """
    cursors = call.edge.cursors.of(call.tenant, None, "recipients", inbox, notification)
    chunk = int(cursors.read(asked.cursor) or 0)
    page = await call.edge.services.notifications.prove.page(call.tenant, inbox, notification, chunk)
    end = None if page.next_chunk is None else str(page.next_chunk)
    return RecallProofsResponse(
        users=[RecallProofResponse.of(each) for each in page.proofs], cursor=cursors.write(end)
    )


@router.get(
    "/inboxes/{inbox}/users/{user}/explain",
    **route_options(
        "explain_counts",
        _UNKNOWN,
        _CHANGED,
        Code.CURSOR_INVALID,
        touches=("inbox.read_config", "inbox.read_counts", "inbox.read_rows", "inbox.settle", *BROADCASTS),
        summary="Explain a user's counts",
    ),
)
async def explain_counts(
    call: AsNotificationsServer, inbox: InboxInPath, user: UserInPath, asked: Annotated[PageParams, Query()]
) -> ExplainCountsResponse:
    """List a user's notifications with the reason why each one is or is not counted as unread."""
    known = await call.edge.services.notifications.known.of(call.tenant, inbox)
    cursors = call.edge.cursors.of(call.tenant, user, "explain", inbox)
    below = cursors.read(asked.cursor)
    explained = await call.edge.services.notifications.read.explain(
        InboxKey(call.tenant, user, inbox), asked.limit, below
    )
    return ExplainCountsResponse.of(explained, known, cursors.write(explained.below))


jobs_router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["jobs"])

_READ = ("jobs.read", "jobs.read_progress")
_OF_CHANGES = (Code.JOB_NOT_FOUND, Code.OUTCOME_UNKNOWN, Code.WRITE_CONFLICT, Code.NO_CHANGE)


@jobs_router.get(
    "/jobs",
    **route_options("list_jobs", Code.CURSOR_INVALID, touches=("jobs.list", *_READ), summary="List jobs"),
)
async def list_jobs(call: AsNotificationsServer, asked: Annotated[PageParams, Query()]) -> JobsResponse:
    """List the jobs of the tenant, newest first."""
    cursors = call.edge.cursors.of(call.tenant, None, "jobs")
    below = cursors.read(asked.cursor)
    page = await call.edge.services.notifications.jobs.listed(
        call.tenant, asked.limit, None if below is None else JobId(below)
    )
    return JobsResponse(jobs=[JobResponse.of(each) for each in page.jobs], cursor=cursors.write(page.below))


@jobs_router.get(
    "/jobs/{job}",
    **route_options("get_job", Code.JOB_NOT_FOUND, touches=_READ, summary="Get a job"),
)
async def get_job(call: AsNotificationsServer, job: JobInPath) -> JobResponse:
    """Get the state and progress of a job."""
    return JobResponse.of(await call.edge.services.notifications.jobs.progress(call.tenant, job))


@jobs_router.post(
    "/jobs/{job}/pause",
    **route_options("pause_job", *_OF_CHANGES, touches=(*_READ, "jobs.change"), summary="Pause a job"),
)
async def pause_job(call: AsNotificationsServer, job: JobInPath) -> JobResponse:
    """Pause a job. Chunks in progress are completed."""
    return JobResponse.of(await call.edge.services.notifications.jobs.pause(call.tenant, job))


@jobs_router.post(
    "/jobs/{job}/resume",
    **route_options(
        "resume_job",
        *_OF_CHANGES,
        touches=(*_READ, "jobs.change", "jobs.enqueue"),
        summary="Resume a job",
    ),
)
async def resume_job(call: AsNotificationsServer, job: JobInPath) -> JobResponse:
    """Resume a paused job."""
    return JobResponse.of(await call.edge.services.notifications.jobs.resume(call.tenant, job))


@jobs_router.post(
    "/jobs/{job}/cancel",
    **route_options("cancel_job", *_OF_CHANGES, touches=(*_READ, "jobs.change"), summary="Cancel a job"),
)
async def cancel_job(call: AsNotificationsServer, job: JobInPath) -> JobResponse:
    """Cancel a job. Completed chunks are not undone."""
    return JobResponse.of(await call.edge.services.notifications.jobs.cancel(call.tenant, job))
