"""Jobs of a tenant's server: how far they are; pause, resume, cancel."""

from typing import Annotated

from fastapi import APIRouter, Query

from tidings.api.documented import route
from tidings.api.door import AsNoticesServer, Guarded
from tidings.api.schemas.chats import Listed
from tidings.api.schemas.inboxes import JobInPath, JobShown, JobsShown
from tidings.jobs.model import JobId
from tidings.kernel.errors import Code

router = APIRouter(prefix="/v1", route_class=Guarded, tags=["jobs"])

_READ = ("jobs.read", "jobs.read_progress")
_OF_CHANGES = (Code.JOB_NOT_FOUND, Code.OUTCOME_UNKNOWN, Code.CHANGED_MEANWHILE, Code.NOTHING_TO_CHANGE)


@router.get(
    "/jobs",
    **route("list_jobs", Code.CURSOR_INVALID, touches=("jobs.list", *_READ), summary="Jobs (server)"),
)
async def list_jobs(call: AsNoticesServer, asked: Annotated[Listed, Query()]) -> JobsShown:
    """Newest first."""
    cursors = call.edge.cursors.of(call.tenant, None, "jobs")
    below = cursors.read(asked.cursor)
    page = await call.edge.services.notices.jobs.listed(
        call.tenant, asked.limit, None if below is None else JobId(below)
    )
    return JobsShown(jobs=[JobShown.of(each) for each in page.jobs], cursor=cursors.write(page.below))


@router.get(
    "/jobs/{job}",
    **route("get_job", Code.JOB_NOT_FOUND, touches=_READ, summary="How far a job is (server)"),
)
async def get_job(call: AsNoticesServer, job: JobInPath) -> JobShown:
    return JobShown.of(await call.edge.services.notices.jobs.progress(call.tenant, job))


@router.post(
    "/jobs/{job}/pause",
    **route("pause_job", *_OF_CHANGES, touches=(*_READ, "jobs.change"), summary="Pause a job (server)"),
)
async def pause_job(call: AsNoticesServer, job: JobInPath) -> JobShown:
    """Chunks that are at work are finished."""
    return JobShown.of(await call.edge.services.notices.jobs.pause(call.tenant, job))


@router.post(
    "/jobs/{job}/resume",
    **route(
        "resume_job",
        *_OF_CHANGES,
        touches=(*_READ, "jobs.change", "jobs.enqueue"),
        summary="Go on with a job (server)",
    ),
)
async def resume_job(call: AsNoticesServer, job: JobInPath) -> JobShown:
    return JobShown.of(await call.edge.services.notices.jobs.resume(call.tenant, job))


@router.post(
    "/jobs/{job}/cancel",
    **route("cancel_job", *_OF_CHANGES, touches=(*_READ, "jobs.change"), summary="Cancel a job (server)"),
)
async def cancel_job(call: AsNoticesServer, job: JobInPath) -> JobShown:
    """What was done stays done."""
    return JobShown.of(await call.edge.services.notices.jobs.cancel(call.tenant, job))
