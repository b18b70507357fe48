"""Start the jobs that send mails."""

import hashlib
from collections.abc import Sequence

from tidings.jobs.model import Job, JobId, JobKind
from tidings.jobs.ports import JobStarter
from tidings.kernel.clock import Clock
from tidings.kernel.ids import UserId, encode_ulid, ulid_ms


class MailJobs:
    """A mail job has one chunk: users of one chunk of a delivery, or of the mail job whose mails were deferred.

    Its id follows from these. A worker that repeats a chunk after a crash finds the job of the first attempt, so the
    mails are not sent by two jobs.
    """

    def __init__(self, jobs: JobStarter, clock: Clock) -> None:
        self._jobs = jobs
        self._clock = clock

    async def start(
        self, parent: Job, chunk: int, users: Sequence[UserId], *, starts_ms: int, attempt: int
    ) -> None:
        job = _job_id(parent.id, chunk, attempt)
        await self._jobs.put_chunks(parent.tenant, job, [users], 0)
        await self._jobs.start(
            Job(
                tenant=parent.tenant,
                id=job,
                kind=JobKind.MAIL,
                inbox=parent.inbox,
                notification=parent.notification,
                source=job,
                total=len(users),
                created_ms=self._clock.now_ms(),
                starts_ms=starts_ms,
                attempt=attempt,
            )
        )


def _job_id(parent: JobId, chunk: int, attempt: int) -> JobId:
    name = hashlib.blake2b(f"mail#{parent}#{chunk}#{attempt}".encode(), digest_size=10).digest()
    return JobId(encode_ulid(ulid_ms(parent), int.from_bytes(name)))
