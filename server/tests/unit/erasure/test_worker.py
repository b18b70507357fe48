"""The job of an erasure: when its chunk is published again, and when it is done."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from fixtures.memory_erasures import MemoryAuditStore, MemoryErasureStore
from fixtures.memory_keys import AdjustableClock
from msgspec.structs import replace

from tidings.audit.log import AuditLog
from tidings.erasure import rules
from tidings.erasure.model import Erasure, ErasureId, ErasureStep
from tidings.erasure.service import ErasureRunner, RunResult
from tidings.erasure.worker import REFUSED_MS, RUN_MS, ErasureWorker
from tidings.jobs.model import ChunkRef, ChunkResult, Job, JobId, JobKind, JobState
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId

ACME, ANNA = TenantId("acme"), UserId("anna")
ERASURE = Erasure(
    tenant=ACME,
    user=ANNA,
    id=ErasureId("01M7Q7YT1FMEJH4B4KBTWBBXBZ"),
    requested_ms=0,
    requested_by="test",
    secret=b"s" * 32,
)
WAIT_MS = 40


@dataclass
class Jobs:
    """The job store, the starter and the topic of one erasure, and a runner with a given result."""

    job: Job = field(default_factory=lambda: rules.job_of(ERASURE))
    clock: AdjustableClock = field(default_factory=AdjustableClock)
    result: RunResult | TidingsError = field(default_factory=lambda: RunResult(ERASURE))
    runs: list[int] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    started: list[Job] = field(default_factory=list)
    published: list[ChunkRef] = field(default_factory=list)

    async def read(self, _tenant: TenantId, job: JobId) -> Job | None:
        return self.job if job == self.job.id else None

    async def is_done(self, _tenant: TenantId, _job: JobId, chunk: int) -> bool:
        return chunk in self.done

    async def mark_done(self, _tenant: TenantId, _job: JobId, result: ChunkResult) -> None:
        self.done.append(result.chunk)

    async def start(self, job: Job) -> bool:
        self.started.append(job)
        return True

    def publish(self, refs: Collection[ChunkRef]) -> None:
        self.published += refs

    async def run(self, _erasure: Erasure, until_ms: int) -> RunResult:
        self.runs.append(until_ms)
        if isinstance(self.result, TidingsError):
            raise self.result
        return self.result

    def worker(self) -> ErasureWorker:
        store, fake = MemoryErasureStore({(ACME, ANNA): ERASURE}), cast("Any", self)
        runner = cast("ErasureRunner", self)
        audit = AuditLog(MemoryAuditStore(), self.clock)
        return ErasureWorker(
            runner, store, jobs=fake, starter=fake, chunks=self, audit=audit, clock=self.clock
        )

    @property
    def ref(self) -> ChunkRef:
        return ChunkRef(tenant=ACME, job=self.job.id, chunk=0, kind=JobKind.ERASE)


async def test_an_erasure_that_waits_is_published_once_at_its_time() -> None:
    jobs = Jobs()
    jobs.result = RunResult(ERASURE, jobs.clock.now_ms() + WAIT_MS)
    worker = jobs.worker()
    for _ in range(3):
        await worker.process(jobs.ref)
    assert jobs.published == []
    await asyncio.sleep(WAIT_MS / 1000 * 3)
    assert jobs.published == [jobs.ref]
    assert jobs.runs == [jobs.clock.now_ms() + RUN_MS] * 3
    await worker.process(jobs.ref)
    await asyncio.sleep(WAIT_MS / 1000 * 3)
    assert len(jobs.published) == 2
    assert jobs.done == []


async def test_a_worker_that_lost_its_page_to_another_one_publishes_nothing() -> None:
    jobs = Jobs()
    await jobs.worker().process(jobs.ref)
    await asyncio.sleep(0.01)
    assert (jobs.published, jobs.done) == ([], [])


async def test_the_first_job_ends_before_the_last_step_and_starts_its_job() -> None:
    jobs = Jobs()
    waiting = replace(ERASURE, step=ErasureStep.FINAL, step_ms=jobs.clock.now_ms())
    jobs.result = RunResult(waiting, rules.ready_at_ms(waiting))
    await jobs.worker().process(jobs.ref)
    assert jobs.done == [0]
    (last,) = jobs.started
    assert (last.id == jobs.job.id, last.kind, last.user) == (False, JobKind.ERASE, ANNA)
    assert last.starts_ms == rules.ready_at_ms(waiting)
    assert last == rules.job_of(waiting), "a repeated start finds the same job"


async def test_the_job_of_the_last_step_is_not_done_before_that_step() -> None:
    waiting = replace(ERASURE, step=ErasureStep.FINAL)
    jobs = Jobs(job=replace(rules.job_of(waiting), starts_ms=0))
    jobs.result = RunResult(waiting, jobs.clock.now_ms() + 10**6)
    await jobs.worker().process(jobs.ref)
    assert (jobs.done, jobs.started) == ([], [])
    jobs.result = RunResult(replace(waiting, step=ErasureStep.DONE))
    await jobs.worker().process(jobs.ref)
    assert jobs.done == [0]


async def test_a_refused_step_is_tried_again_and_an_unavailable_engine_is_raised() -> None:
    jobs = Jobs()
    jobs.result = TidingsError(Code.FORBIDDEN, "The heir has left.")
    loop, delays = asyncio.get_running_loop(), list[float]()
    worker = jobs.worker()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(loop, "call_later", lambda delay_s, *_: delays.append(delay_s))
        await worker.process(jobs.ref)
    assert (delays, jobs.done) == ([REFUSED_MS / 1000], [])
    jobs.result = TidingsError(Code.OVERLOADED, "Try again.")
    with pytest.raises(TidingsError):
        await worker.process(jobs.ref)


@pytest.mark.parametrize(
    "change", [{"state": JobState.PAUSED}, {"starts_ms": 10**15}, {"user": None}], ids=str
)
async def test_a_job_that_does_not_run_erases_nothing(change: dict[str, Any]) -> None:
    jobs = Jobs()
    jobs.job = replace(jobs.job, **change)
    await jobs.worker().process(jobs.ref)
    assert jobs.runs == []


async def test_a_job_that_a_restore_has_brought_back_ends_without_an_effect() -> None:
    former = replace(ERASURE, id=ErasureId("01M7Q7YT1FMEJH4B4KBTWBBXC0"))
    jobs = Jobs(job=rules.job_of(former))
    await jobs.worker().process(jobs.ref)
    assert (jobs.runs, jobs.done, jobs.published) == ([], [0], [])
