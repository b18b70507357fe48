"""The second approver: a request destroys nothing until another identity approves it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from fixtures.memory_erasures import MemoryAuditStore, MemoryErasureStore
from fixtures.memory_keys import AdjustableClock

from tidings.audit.log import AuditLog
from tidings.erasure import rules
from tidings.erasure.approval import APPROVAL_MS, Decision, expires_ms
from tidings.erasure.model import ApprovalState, Erasure, ErasureStep, StepProgress
from tidings.erasure.service import ErasureRunner, ErasureService
from tidings.erasure.worker import ErasureWorker
from tidings.jobs.model import ChunkRef, ChunkResult, Job, JobId, JobKind
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId

ACME, ANNA = TenantId("acme"), UserId("anna")
EVE, BOB, KEY = "operator:eve", "oidc:bob", "api_key:01JCQ4Z7N3V5X9B2M8K6T1R0WD"


class InterruptedStore(MemoryErasureStore):
    """Runs something between the read and the write of a decision, as another process would."""

    interrupt: Callable[[], Awaitable[object]] | None = None

    async def save(self, erasure: Erasure, /) -> bool:
        if self.interrupt is not None:
            interrupt, self.interrupt = self.interrupt, None
            await interrupt()
        return await super().save(erasure)


@dataclass
class Office:
    """A tenant with the setting, and the jobs that were started."""

    has_setting: bool = True
    store: InterruptedStore = field(default_factory=InterruptedStore)
    clock: AdjustableClock = field(default_factory=AdjustableClock)
    audit: MemoryAuditStore = field(default_factory=MemoryAuditStore)
    started: list[Job] = field(default_factory=list)
    done: list[JobId] = field(default_factory=list)

    @property
    def service(self) -> ErasureService:
        async def is_known(_tenant: TenantId, user: UserId) -> bool:
            return user == ANNA

        async def needs_approval(_tenant: TenantId) -> bool:
            return self.has_setting

        return ErasureService(
            self.store, is_known, cast("Any", self), self.clock, needs_approval=needs_approval
        )

    async def request(self, by: str = EVE) -> Erasure:
        return await self.service.request(ACME, ANNA, by)

    async def decide(self, decision: Decision, by: str) -> Erasure:
        return await self.service.decide(ACME, ANNA, decision, by)

    async def refusal(self, decision: Decision, by: str) -> Code:
        with pytest.raises(TidingsError) as refused:
            await self.decide(decision, by)
        return refused.value.code

    async def start(self, job: Job) -> bool:
        self.started.append(job)
        return True

    async def read(self, _tenant: TenantId, job: JobId) -> Job | None:
        return next((each for each in self.started if each.id == job), None)

    async def is_done(self, *_: object) -> bool:
        return False

    async def mark_done(self, _tenant: TenantId, job: JobId, _result: ChunkResult) -> None:
        self.done.append(job)

    async def run(self, job: Job) -> set[ErasureStep]:
        """Process the chunk of a job, and return the steps that ran."""
        ran: set[ErasureStep] = set()

        async def page(erasure: Erasure) -> StepProgress:
            ran.add(erasure.step)
            return StepProgress()

        runner = ErasureRunner(self.store, dict.fromkeys(ErasureStep, page), self.clock)
        jobs, audit = cast("Any", self), AuditLog(self.audit, self.clock)
        worker = ErasureWorker(
            runner, self.store, jobs=jobs, starter=jobs, chunks=jobs, audit=audit, clock=self.clock
        )
        await worker.process(ChunkRef(tenant=ACME, job=job.id, chunk=0, kind=JobKind.ERASE))
        return ran

    @property
    def erasing(self) -> set[str]:
        """The jobs that erase, without those that expire a request."""
        return {str(job.id) for job in self.started if not job.starts_ms}


async def test_a_request_starts_nothing_but_its_expiry() -> None:
    office = Office()
    erasure = await office.request()
    assert erasure.approval is not None
    assert erasure.approval.state is ApprovalState.AWAITING
    assert [job.starts_ms for job in office.started] == [expires_ms(erasure)]
    assert await office.request(BOB) == erasure, "a second request is no approval"
    assert office.erasing == set()
    office.started.append(rules.job_of(erasure))
    assert await office.run(rules.job_of(erasure)) == set(), "also if its job ran"


async def test_a_tenant_without_the_setting_needs_no_approval() -> None:
    office = Office(has_setting=False)
    erasure = await office.request()
    assert office.erasing == {erasure.id}
    assert await office.refusal(Decision.REJECT, BOB) is Code.NO_CHANGE
    assert await office.refusal(Decision.APPROVE, BOB) is Code.NO_CHANGE


@pytest.mark.parametrize("requester", [EVE, KEY])
async def test_the_requester_cannot_approve(requester: str) -> None:
    office = Office()
    await office.request(requester)
    assert await office.refusal(Decision.APPROVE, requester) is Code.FORBIDDEN
    assert office.erasing == set()


@pytest.mark.parametrize("approver", [BOB, KEY])
async def test_another_identity_starts_the_erasure(approver: str) -> None:
    office = Office()
    erasure = await office.request()
    office.clock.now_s += 3_600
    approved = await office.decide(Decision.APPROVE, approver)
    assert approved.approval is not None
    assert (approved.approval.by, approved.approval.at_ms) == (approver, office.clock.now_ms())
    assert approved.step_ms == office.clock.now_ms(), "the waits of the steps begin with the approval"
    assert office.erasing == {erasure.id}
    assert ErasureStep.FENCE in await office.run(rules.job_of(approved))
    assert await office.refusal(Decision.APPROVE, EVE) is Code.FORBIDDEN


async def test_a_repeated_approval_starts_a_job_that_was_not_started() -> None:
    office = Office()
    erasure = await office.request()
    await office.decide(Decision.APPROVE, BOB)
    office.started.clear()
    await office.decide(Decision.APPROVE, BOB)
    assert office.erasing == {erasure.id}


async def test_two_approvals_at_the_same_time_start_one_erasure() -> None:
    office = Office()
    erasure = await office.request()
    office.store.interrupt = lambda: office.decide(Decision.APPROVE, KEY)
    second = await office.decide(Decision.APPROVE, BOB)
    assert second.approval is not None
    assert (second.approval.by, second.version) == (KEY, erasure.version + 1)
    assert office.erasing == {erasure.id}


@pytest.mark.parametrize("first", Decision)
async def test_the_first_of_two_different_decisions_counts(first: Decision) -> None:
    office = Office()
    await office.request()
    second = Decision.REJECT if first is Decision.APPROVE else Decision.APPROVE
    office.store.interrupt = lambda: office.decide(first, KEY)
    assert await office.refusal(second, BOB) is Code.NO_CHANGE
    assert bool(office.erasing) == (first is Decision.APPROVE)


async def test_the_requester_can_reject_and_a_new_request_replaces_it() -> None:
    office = Office()
    first = await office.request()
    rejected = await office.decide(Decision.REJECT, EVE)
    assert await office.decide(Decision.REJECT, BOB) == rejected, "a repeated rejection changes nothing"
    assert await office.refusal(Decision.APPROVE, BOB) is Code.NO_CHANGE
    second = await office.request(BOB)
    assert second.id != first.id
    await office.decide(Decision.APPROVE, EVE)
    assert office.erasing == {second.id}


async def test_turning_the_setting_off_does_not_release_a_request() -> None:
    office = Office()
    erasure = await office.request()
    office.has_setting = False
    assert await office.request() == erasure
    assert await office.refusal(Decision.APPROVE, EVE) is Code.FORBIDDEN
    assert office.erasing == set()


async def test_a_request_expires_at_its_time_and_the_audit_log_has_it() -> None:
    office = Office()
    erasure = await office.request()
    (expiry,) = office.started
    office.clock.now_s += APPROVAL_MS / 1000 - 1
    await office.run(expiry)
    assert (office.done, office.audit.records) == ([], []), "not before its time"
    office.clock.now_s += 1
    assert await office.refusal(Decision.APPROVE, BOB) is Code.NO_CHANGE, "also before its job runs"
    await office.run(expiry)
    stored = office.store.rows[ACME, ANNA]
    assert stored.approval is not None
    assert (stored.approval.state, stored.approval.by) == (ApprovalState.EXPIRED, None)
    assert [each.outcome for each in office.audit.records] == [None, "ok"]
    assert {each.operation for each in office.audit.records} == {"expire_erasure"}
    await office.run(expiry)
    assert len(office.audit.records) == 2, "a repeated job records nothing"
    assert (await office.request()).id != erasure.id


async def test_a_request_that_was_approved_does_not_expire() -> None:
    office = Office()
    await office.request()
    (expiry,) = office.started
    await office.decide(Decision.APPROVE, BOB)
    office.clock.now_s += APPROVAL_MS / 1000
    await office.run(expiry)
    assert office.store.rows[ACME, ANNA].may_run
    assert (office.done, office.audit.records) == ([expiry.id], [])


async def test_an_approval_while_the_request_expires_is_refused_or_wins() -> None:
    office = Office()
    await office.request()
    (expiry,) = office.started
    office.clock.now_s += APPROVAL_MS / 1000

    async def reject() -> None:
        office.clock.now_s -= 10  # the clock of another process
        await office.decide(Decision.REJECT, BOB)

    office.store.interrupt = reject
    with pytest.raises(TidingsError):
        await office.run(expiry)
    stored = office.store.rows[ACME, ANNA].approval
    assert stored is not None
    assert stored.state is ApprovalState.REJECTED
    assert [each.outcome for each in office.audit.records] == [None, Code.WRITE_CONFLICT]
