"""Which erasures start again after a restore, and how."""

from dataclasses import dataclass, field

import pytest
from fixtures.memory_erasures import MemoryErasureStore, no_approval
from fixtures.memory_keys import AdjustableClock
from msgspec.structs import replace

from tidings.erasure import rules
from tidings.erasure.certificate import certificate_of, sign
from tidings.erasure.model import Approval, Erasure, ErasureCursor, ErasureId, ErasureStep
from tidings.erasure.service import ErasureService
from tidings.jobs.model import Job
from tidings.kernel.ids import TenantId, UserId

ACME, ANNA = TenantId("acme"), UserId("anna")
SIGNED_MS = 1_800_000_000_000
RUNNING = Erasure(
    tenant=ACME,
    user=ANNA,
    id=ErasureId("01M7Q7YT1FMEJH4B4KBTWBBXBZ"),
    requested_ms=SIGNED_MS - 600_000,
    requested_by="test",
    secret=b"s" * 32,
    step=ErasureStep.CHATS,
    step_ms=5,
    cursor=ErasureCursor(sequence=7),
    counts={"messages": 3},
    version=9,
)
ERASED = replace(
    RUNNING,
    step=ErasureStep.FINAL,
    step_ms=SIGNED_MS,
    cursor=ErasureCursor(),
    secret=None,
    certificate=sign(certificate_of(RUNNING, SIGNED_MS, is_final=False), b"k" * 32),
)
DONE = replace(
    ERASED,
    step=ErasureStep.DONE,
    certificate=sign(certificate_of(ERASED, SIGNED_MS + rules.FINAL_MS, is_final=True), b"k" * 32),
)
BEFORE_MS, AFTER_MS = SIGNED_MS - 1, SIGNED_MS + rules.RESTORE_MARGIN_MS


@dataclass
class Restored:
    erasure: Erasure
    started: list[Job] = field(default_factory=list)

    async def start(self, job: Job, /) -> bool:
        self.started.append(job)
        return True

    async def start_again(self, restored_ms: int, *, times: int = 1) -> bool:
        store = MemoryErasureStore({(ACME, ANNA): self.erasure})

        async def is_known(_tenant: TenantId, _user: UserId) -> bool:
            return True

        service = ErasureService(
            store,
            is_known,
            self,  # type: ignore[arg-type]  # starts jobs only
            AdjustableClock(),
            needs_approval=no_approval,
        )
        is_started = [await service.start_again(ACME, ANNA, restored_ms) for _ in range(times)]
        self.erasure = store.rows[ACME, ANNA]
        return all(is_started)


@pytest.mark.parametrize("erasure", [RUNNING, ERASED, DONE], ids=lambda each: each.step)
async def test_an_erasure_after_the_backup_starts_again_from_the_first_step(erasure: Erasure) -> None:
    restored = Restored(erasure)
    assert await restored.start_again(BEFORE_MS, times=2)
    again = restored.erasure
    assert (again.step, again.cursor, again.counts) == (ErasureStep.FENCE, ErasureCursor(), {})
    assert (again.certificate, again.requested_ms, again.version) == (None, erasure.requested_ms, 10)
    assert again.id != erasure.id
    assert again.secret == erasure.secret if erasure.secret else len(again.secret or b"") == 32
    assert restored.started == [rules.job_of(again)] * 2, "a repeat starts the same job"


@pytest.mark.parametrize("erasure", [ERASED, DONE], ids=lambda each: each.step)
async def test_an_erasure_before_the_backup_is_not_changed(erasure: Erasure) -> None:
    restored = Restored(erasure)
    assert not await restored.start_again(AFTER_MS)
    assert restored.erasure == erasure
    # The job of the last step may be younger than the backup.
    assert restored.started == ([rules.job_of(erasure)] if erasure is ERASED else [])


async def test_an_erasure_without_a_certificate_starts_again_after_any_backup() -> None:
    assert await Restored(RUNNING).start_again(AFTER_MS * 2)


async def test_a_request_that_waits_for_an_approval_is_not_started() -> None:
    waiting = replace(RUNNING, step=ErasureStep.FENCE, approval=Approval())
    restored = Restored(waiting)
    assert not await restored.start_again(BEFORE_MS)
    assert (restored.erasure, restored.started) == (waiting, [])
