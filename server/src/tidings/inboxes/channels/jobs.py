"""Start the jobs that send notifications over a channel."""

import hashlib
from collections.abc import Sequence

from tidings.jobs.model import Job, JobId, JobKind
from tidings.jobs.ports import JobStarter
from tidings.kernel.clock import Clock
from tidings.kernel.ids import UserId, encode_ulid, ulid_ms


class ChannelJobs:
    """A job of a channel has one chunk: users of a chunk of a delivery, or of the job whose attempts were deferred.

    Its id follows from these. A worker that repeats a chunk after a crash finds the job of the first attempt. If it
    defers other users than the first time, it starts another job, so that no user is left out; a user of both jobs has a
    result or a claim when the second one sends.
    """

    def __init__(self, kind: JobKind, jobs: JobStarter, clock: Clock) -> None:
        self._kind = kind
        self._jobs = jobs
        self._clock = clock

    async def start(
        self, parent: Job, chunk: int, users: Sequence[UserId], *, starts_ms: int, attempt: int
    ) -> None:
        id_ = self._job_id(parent.id, chunk, attempt, users)
        # The age of a notification counts from the first job.
        is_first = parent.kind is not self._kind
        job = Job(
            tenant=parent.tenant,
            id=id_,
            kind=self._kind,
            inbox=parent.inbox,
            notification=parent.notification,
            source=id_,
            total=len(users),
            created_ms=self._clock.now_ms() if is_first else parent.created_ms,
            starts_ms=starts_ms,
            attempt=attempt,
        )
        await self._jobs.put_chunks(job, [users], 0)
        await self._jobs.start(job)

    def _job_id(self, parent: JobId, chunk: int, attempt: int, users: Sequence[UserId]) -> JobId:
        named = "#".join((self._kind, parent, str(chunk), str(attempt), *users))
        digest = hashlib.blake2b(named.encode(), digest_size=10).digest()
        return JobId(encode_ulid(ulid_ms(parent), int.from_bytes(digest)))
