"""Request and approve an erasure, and run its steps. A worker may die anywhere: the next one continues with the stored step."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from tidings.erasure import approval, rules
from tidings.erasure.approval import Decision
from tidings.erasure.model import (
    SECRET_BYTES,
    STEP_DONE,
    Approval,
    Erasure,
    ErasureId,
    ErasureStep,
    StepProgress,
)
from tidings.erasure.ports import ErasurePage, ErasureStore, IsKnownUser, NeedsApproval, StepAction
from tidings.jobs.model import WHOLE_TENANT
from tidings.jobs.ports import JobStarter
from tidings.kernel.action_notes import note_change
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import retry_on_conflict
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.kernel.ids import TenantId, UserId, new_ulid


class ErasureService:
    def __init__(
        self,
        store: ErasureStore,
        is_known: IsKnownUser,
        jobs: JobStarter,
        clock: Clock,
        *,
        needs_approval: NeedsApproval,
    ) -> None:
        self._store = store
        self._is_known = is_known
        self._needs_approval = needs_approval
        self._jobs = jobs
        self._clock = clock

    async def request(self, tenant: TenantId, user: UserId, requested_by: str) -> Erasure:
        """Start an erasure, or return the one that was requested before. Idempotent. Raises `user_not_found`.

        If the tenant requires a second approver, the request is only stored, until another identity approves it. A request
        that was rejected or has expired is replaced. The erasure is stored before its job. After a failure in between, a
        repeated request starts the job.
        """
        erasure = await self.find(tenant, user)
        if erasure is None or approval.is_closed(erasure):
            erasure = await self._create(tenant, user, requested_by, erasure)
            state = None if erasure.approval is None else erasure.approval.state
            note_change(None, {"erasure": erasure.id, "approval": state})
        await self._start_job(erasure)
        return erasure

    async def decide(self, tenant: TenantId, user: UserId, decision: Decision, by: str) -> Erasure:
        """Approve or reject a request. The first decision counts. Idempotent. Raises `forbidden` and `no_change`.

        Race: two approvers decide at the same time. Both read the same version, one write succeeds, and the other one reads
        that decision. Their jobs have the same id, so one erasure starts.
        """

        async def step() -> Erasure:
            found = await self.read(tenant, user)
            after = approval.decided(found, decision, by, self._clock.now_ms())
            if after is None:
                return found
            save = self._store.approve if decision is Decision.APPROVE else self._store.save
            if not await save(after):
                raise TidingsError(
                    Code.WRITE_CONFLICT, "Another approver decided at the same time. Try again."
                )
            note_change(_approval_note(found), _approval_note(after))
            return after

        erasure = await retry_on_conflict(step)
        if erasure.may_run:
            await self._start_job(erasure)
        return erasure

    async def listed(self, tenant: TenantId, limit: int, before: str | None) -> ErasurePage:
        """List requests and erasures of a tenant's users, newest first."""
        page, now_ms = await self._store.listed(tenant, limit, before), self._clock.now_ms()
        return ErasurePage([approval.as_of(each, now_ms) for each in page.erasures], page.before)

    async def _start_job(self, erasure: Erasure) -> None:
        """Start the job of an erasure that has not begun, or the one that expires its request."""
        if erasure.step is not ErasureStep.FENCE:
            return
        if erasure.may_run:
            await self._jobs.start(rules.job_of(erasure))
        elif approval.is_waiting(erasure):
            await self._jobs.start(rules.expiry_job_of(erasure))

    async def start_again(self, tenant: TenantId, user: UserId, restored_ms: int) -> bool:
        """Start an erasure again if tables that were restored to this time may have data of the user. Idempotent.

        False: the erasure was finished before, or only the keys were destroyed. Call it while no worker runs.
        """
        erasure = await self._store.read(tenant, user)
        if erasure is None or not erasure.may_run:
            return False
        if not rules.is_undone_by(erasure, restored_ms):
            if erasure.step is ErasureStep.FINAL:  # The job of the last step may be younger than the backup.
                await self._jobs.start(rules.job_of(erasure))
            return False
        if erasure.step is not ErasureStep.FENCE:
            id_, secret = ErasureId(new_ulid()), secrets.token_bytes(SECRET_BYTES)
            erasure = rules.started_again(erasure, id_, secret, self._clock.now_ms())
            if not await self._store.save(erasure):
                raise TidingsError(Code.WRITE_CONFLICT, f"Another process changed the erasure of {user}.")
        # An interrupted restore finds the step `fence`, so that a repeat starts the same job.
        await self._jobs.start(rules.job_of(erasure))
        return True

    async def find(self, tenant: TenantId, user: UserId) -> Erasure | None:
        """Return the erasure of a user; None: it was not requested."""
        found = await self._store.read(tenant, user)
        return None if found is None else approval.as_of(found, self._clock.now_ms())

    async def read(self, tenant: TenantId, user: UserId) -> Erasure:
        """Return the erasure of a user. Raises `job_not_found`."""
        erasure = await self.find(tenant, user)
        if erasure is None:
            what = f"deletion of tenant {tenant}" if user == WHOLE_TENANT else f"erasure of user {user}"
            raise TidingsError(Code.JOB_NOT_FOUND, f"The {what} was not requested.")
        return erasure

    async def _create(
        self, tenant: TenantId, user: UserId, requested_by: str, replaced: Erasure | None
    ) -> Erasure:
        if not await self._is_known(tenant, user):
            if user == WHOLE_TENANT:
                raise TidingsError(Code.REQUEST_INVALID, f"Tenant {tenant} does not exist.")
            raise TidingsError(Code.USER_NOT_FOUND, f"User {user} does not exist.")
        waits = Approval() if await self._needs_approval(tenant) else None
        now_ms = self._clock.now_ms()
        return await self._store.create(
            Erasure(
                tenant=tenant,
                user=user,
                id=ErasureId(new_ulid()),
                requested_ms=now_ms,
                requested_by=requested_by,
                approval=waits,
                secret=secrets.token_bytes(SECRET_BYTES),
                step_ms=now_ms,
                version=1 if replaced is None else replaced.version + 1,
            ),
            replaced,
        )


def _approval_note(erasure: Erasure) -> dict[str, object]:
    state = None if erasure.approval is None else erasure.approval.state
    return {"erasure": erasure.id, "approval": state, "requested_by": erasure.requested_by}


@dataclass(frozen=True, slots=True)
class RunResult:
    """`wait_until_ms` None: the erasure is done, or another worker continues it."""

    erasure: Erasure
    wait_until_ms: int | None = None


class ErasureRunner:
    """Runs the steps in their order. A step without an action has nothing to do in this installation.

    `tenant_actions`: those of the deletion of a tenant.
    """

    def __init__(
        self,
        store: ErasureStore,
        actions: Mapping[ErasureStep, StepAction],
        clock: Clock,
        failpoints: Failpoints = NO_FAILPOINTS,
        *,
        tenant_actions: Mapping[ErasureStep, StepAction] | None = None,
    ) -> None:
        self._store = store
        self._actions = actions
        self._tenant_actions = tenant_actions or {}
        self._clock = clock
        self._failpoints = failpoints

    async def run(self, erasure: Erasure, until_ms: int) -> RunResult:
        """Run pages until the erasure is done, must wait, or `until_ms` has passed. At least one page is tried.

        An erasure that waits for an approval does not run.

        Race: two workers run the same page. Both have the same effect, and only one stores its progress, so nothing is
        counted twice. The other one stops.
        """
        while erasure.may_run and erasure.step is not ErasureStep.DONE:
            ready_ms = rules.ready_at_ms(erasure)
            if ready_ms > self._clock.now_ms():
                return RunResult(erasure, ready_ms)
            progress = await self._page(erasure)
            if progress.wait_until_ms is not None:
                return RunResult(erasure, progress.wait_until_ms)
            await self._failpoints.hit(f"erasure.{erasure.step}")
            following = rules.after_page(erasure, progress, self._clock.now_ms())
            if not await self._store.save(following):
                return RunResult(erasure)
            erasure = following
            if self._clock.now_ms() >= until_ms:
                return RunResult(erasure, self._clock.now_ms())
        return RunResult(erasure)

    async def _page(self, erasure: Erasure) -> StepProgress:
        action = (self._tenant_actions if erasure.is_of_tenant else self._actions).get(erasure.step)
        return STEP_DONE if action is None else await action(erasure)
