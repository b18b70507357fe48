"""Jobs of a tenant's server: how far they are; pause, resume, cancel."""

from typing import Annotated

from fastapi import APIRouter, Query

from tidings.api.documented import route_options
from tidings.api.door import AsNotificationsServer, AuthenticatedRoute
from tidings.api.schemas.chats import PageParams
from tidings.api.schemas.inboxes import JobInPath, JobResponse, JobsResponse
from tidings.jobs.model import JobId
from tidings.kernel.errors import Code

jobs_router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["jobs"])

_READ = ("jobs.read", "jobs.read_progress")
_OF_CHANGES = (Code.JOB_NOT_FOUND, Code.OUTCOME_UNKNOWN, Code.WRITE_CONFLICT, Code.NO_CHANGE)


@jobs_router.get(
    "/jobs",
    **route_options("list_jobs", Code.CURSOR_INVALID, touches=("jobs.list", *_READ), summary="Jobs (server)"),
)
async def list_jobs(call: AsNotificationsServer, asked: Annotated[PageParams, Query()]) -> JobsResponse:
    """Newest first."""
    cursors = call.edge.cursors.of(call.tenant, None, "jobs")
    below = cursors.read(asked.cursor)
    page = await call.edge.services.notifications.jobs.listed(
        call.tenant, asked.limit, None if below is None else JobId(below)
    )
    return JobsResponse(jobs=[JobResponse.of(each) for each in page.jobs], cursor=cursors.write(page.below))


@jobs_router.get(
    "/jobs/{job}",
    **route_options("get_job", Code.JOB_NOT_FOUND, touches=_READ, summary="How far a job is (server)"),
)
async def get_job(call: AsNotificationsServer, job: JobInPath) -> JobResponse:
    return JobResponse.of(await call.edge.services.notifications.jobs.progress(call.tenant, job))


@jobs_router.post(
    "/jobs/{job}/pause",
    **route_options(
        "pause_job", *_OF_CHANGES, touches=(*_READ, "jobs.change"), summary="Pause a job (server)"
    ),
)
async def pause_job(call: AsNotificationsServer, job: JobInPath) -> JobResponse:
    """Chunks that are at work are finished."""
    return JobResponse.of(await call.edge.services.notifications.jobs.pause(call.tenant, job))


@jobs_router.post(
    "/jobs/{job}/resume",
    **route_options(
        "resume_job",
        *_OF_CHANGES,
        touches=(*_READ, "jobs.change", "jobs.enqueue"),
        summary="Go on with a job (server)",
    ),
)
async def resume_job(call: AsNotificationsServer, job: JobInPath) -> JobResponse:
    return JobResponse.of(await call.edge.services.notifications.jobs.resume(call.tenant, job))


@jobs_router.post(
    "/jobs/{job}/cancel",
    **route_options(
        "cancel_job", *_OF_CHANGES, touches=(*_READ, "jobs.change"), summary="Cancel a job (server)"
    ),
)
async def cancel_job(call: AsNotificationsServer, job: JobInPath) -> JobResponse:
    """What was done stays done."""
    return JobResponse.of(await call.edge.services.notifications.jobs.cancel(call.tenant, job))
