"""Schemas of jobs."""

from typing import Annotated, Literal, Self

from fastapi import Path
from pydantic import Field
from pydantic.config import JsonDict

from tidings.api.schemas.api_model import ApiModel, Cursor, Time, with_examples
from tidings.api.schemas.notifications import ULID
from tidings.jobs.model import JobId, JobProgress
from tidings.kernel.clock import format_ms, format_ms_or_none

_ID, _AT = "01JCQ4Z7N3V5X9B2M8K6T1R0WD", "2026-11-15T02:11:21.957Z"
_JOB: JsonDict = {
    "id": _ID,
    "kind": "deliver",
    "state": "running",
    "inbox": "default",
    "notification": _ID,
    "total": 100_000,
    "done": 32_100,
    "failed": 0,
    "rate_per_s": 2_140.0,
    "remaining_s": 31.7,
    "created_at": _AT,
}

JobInPath = Annotated[JobId, Path(pattern=ULID, description="A job id.", examples=[_ID])]


class JobResponse(ApiModel):
    model_config = with_examples(_JOB)

    id: str
    kind: Literal[
        "deliver", "redact", "amend", "broadcast", "add_members", "mail", "push", "index", "erase", "export"
    ]
    state: Literal["running", "paused", "cancelled", "done"]
    inbox: str | None = None
    notification: str | None = None
    chat: Annotated[str | None, Field(description="The chat that a job adds members to.")] = None
    total: int
    done: int
    failed: int
    rate_per_s: Annotated[float, Field(description="Users per second, over the last ten seconds.")]
    remaining_s: Annotated[
        float | None, Field(description="Estimated remaining time at this rate, in seconds.")
    ] = None
    created_at: Time
    starts_at: Annotated[Time | None, Field(description="When a planned broadcast starts.")] = None
    finished_at: Time | None = None

    @classmethod
    def of(cls, progress: JobProgress) -> Self:
        job = progress.job
        return cls(
            id=job.id,
            kind=job.kind.value,
            state=progress.state.value,
            inbox=job.inbox or None,
            notification=job.notification or None,
            chat=job.chat,
            total=job.total,
            done=progress.done,
            failed=progress.failed,
            rate_per_s=round(progress.rate_per_s, 1),
            remaining_s=None if progress.remaining_s is None else round(progress.remaining_s, 1),
            created_at=format_ms(job.created_ms),
            starts_at=format_ms_or_none(job.starts_ms or None),
            finished_at=format_ms_or_none(progress.finished_ms),
        )


class JobsResponse(ApiModel):
    model_config = with_examples({"jobs": [_JOB]})

    jobs: list[JobResponse]
    cursor: Cursor | None = None
