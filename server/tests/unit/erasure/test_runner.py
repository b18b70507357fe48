"""The order of the steps, and what a worker that dies or a second worker leaves behind."""

from dataclasses import dataclass, field

import pytest
from fixtures.kill_at import KillAt, KilledError
from fixtures.memory_erasures import MemoryErasureStore, no_approval
from fixtures.memory_keys import AdjustableClock

from tidings.erasure import rules
from tidings.erasure.model import Erasure, ErasureCursor, ErasureStep, StepProgress
from tidings.erasure.ports import StepAction
from tidings.erasure.service import ErasureRunner, ErasureService, RunResult
from tidings.jobs.model import Job, JobProgress
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId, is_pseudonym, is_user_id

ACME, ANNA = TenantId("acme"), UserId("anna")
PAGES = 3
FOREVER_MS = 10**15


@dataclass
class World:
    """Steps of three pages each. They record the pages that ran, and each page counts one."""

    store: MemoryErasureStore = field(default_factory=MemoryErasureStore)
    clock: AdjustableClock = field(default_factory=AdjustableClock)
    ran: list[tuple[ErasureStep, int]] = field(default_factory=list)
    started: list[Job] = field(default_factory=list)

    async def page(self, erasure: Erasure) -> StepProgress:
        part = erasure.cursor.part
        self.ran.append((erasure.step, part))
        cursor = ErasureCursor(part=part + 1) if part + 1 < PAGES else None
        return StepProgress(cursor, {erasure.step.value: 1})

    def runner(self, failpoints: KillAt | None = None) -> ErasureRunner:
        actions: dict[ErasureStep, StepAction] = dict.fromkeys(ErasureStep, self.page)
        return ErasureRunner(self.store, actions, self.clock, failpoints or KillAt())

    async def request(self) -> Erasure:
        service = ErasureService(self.store, self.is_known, self, self.clock, needs_approval=no_approval)
        return await service.request(ACME, ANNA, "operator:eve")

    async def is_known(self, _tenant: TenantId, user: UserId) -> bool:
        return user == ANNA

    async def put_chunks(self, *_: object) -> None:
        raise AssertionError("the chunk of an erasure has no list of users")

    async def progress(self, *_: object) -> JobProgress:
        raise AssertionError("an erasure has its own progress")

    async def start(self, job: Job) -> bool:
        self.started.append(job)
        return True

    async def run(self, failpoints: KillAt | None = None, until_ms: int = FOREVER_MS) -> RunResult:
        """Run as one worker, and skip the times that it must wait."""
        failpoints = failpoints or KillAt()
        while True:
            erasure = await self.store.read(ACME, ANNA)
            assert erasure is not None
            result = await self.runner(failpoints).run(erasure, until_ms)
            if result.wait_until_ms is None:
                return result
            self.clock.now_s = max(self.clock.now_s, result.wait_until_ms / 1000)


async def undisturbed() -> tuple[World, KillAt]:
    world, points = World(), KillAt()
    await world.request()
    await world.run(points)
    return world, points


async def test_all_steps_run_in_their_order() -> None:
    world, _ = await undisturbed()
    steps = [step for step in ErasureStep if step is not ErasureStep.DONE]
    assert world.ran == [(step, part) for step in steps for part in range(PAGES)]


def test_the_order_protects_the_steps_from_each_other() -> None:
    order = {step: at for at, step in enumerate(rules.ORDER)}
    assert order[ErasureStep.FENCE] == 0, "nothing new may appear behind the job"
    assert order[ErasureStep.KEYS] < order[ErasureStep.QUIET], "cached keys expire while the job waits"
    assert order[ErasureStep.QUIET] < order[ErasureStep.LEAVE], "an append in flight would follow the leave"
    assert order[ErasureStep.LEAVE] < order[ErasureStep.SETTLED] < order[ErasureStep.CHATS]
    assert order[ErasureStep.KEYS] < order[ErasureStep.SEARCH], "the indexer could add documents again"
    assert order[ErasureStep.CHATS] < order[ErasureStep.ROWS], "delivery writes rows for the leaves"
    assert order[ErasureStep.CERTIFICATE] < order[ErasureStep.FINAL]


async def test_a_worker_that_dies_after_any_page_is_followed_by_one_with_the_same_result() -> None:
    expected, points = await undisturbed()
    for nth in range(1, len(points.reached) + 1):
        world = World()
        await world.request()
        with pytest.raises(KilledError):
            await world.run(KillAt(nth))
        result = await world.run()
        final = expected.store.rows[ACME, ANNA]
        assert (result.erasure.step, result.erasure.counts) == (ErasureStep.DONE, final.counts)
        assert len(world.ran) == len(expected.ran) + 1, "one page is repeated"


async def test_of_two_workers_with_the_same_page_one_stores_it_and_the_other_stops() -> None:
    world = World()
    erasure = await world.request()
    first = await world.runner().run(erasure, 0)
    second = await world.runner().run(erasure, 0)
    assert first.erasure.counts == {"fence": 1}
    assert second == RunResult(erasure)
    assert world.store.rows[ACME, ANNA] == first.erasure


async def test_a_run_ends_when_its_time_is_over_and_the_next_one_continues() -> None:
    world = World()
    await world.request()
    result = await world.runner().run(world.store.rows[ACME, ANNA], 0)
    assert result.wait_until_ms == world.clock.now_ms()
    assert world.ran == [(ErasureStep.FENCE, 0)]


@pytest.mark.parametrize("step", rules.WAITS)
async def test_a_step_with_a_wait_does_nothing_before_its_time(step: ErasureStep) -> None:
    world = World()
    await world.request()
    while (erasure := world.store.rows[ACME, ANNA]).step is not step:
        result = await world.runner().run(erasure, 0)
        assert result.wait_until_ms is not None
        world.clock.now_s = max(world.clock.now_s, result.wait_until_ms / 1000)
    world.ran.clear()
    ready_ms = erasure.step_ms + rules.WAITS[step]
    world.clock.now_s = (ready_ms - 1) / 1000
    assert await world.runner().run(erasure, 0) == RunResult(erasure, ready_ms)
    assert world.ran == []
    world.clock.now_s = ready_ms / 1000
    await world.runner().run(erasure, 0)
    assert world.ran == [(step, 0)]


async def test_a_second_request_returns_the_first_erasure() -> None:
    world = World()
    first = await world.request()
    world.clock.now_s += 60
    assert await world.request() == first
    assert [str(job.id) for job in world.started] == [str(first.id)] * 2, "the first start may have failed"


async def test_a_user_who_does_not_exist_cannot_be_erased() -> None:
    world = World()
    service = ErasureService(world.store, world.is_known, world, world.clock, needs_approval=no_approval)
    with pytest.raises(TidingsError) as refused:
        await service.request(ACME, UserId("nobody"), "operator:eve")
    assert refused.value.code is Code.USER_NOT_FOUND
    assert (world.store.rows, world.started) == ({}, [])


async def test_the_secret_is_deleted_with_the_certificate_and_not_before() -> None:
    world = World()
    erasure = await world.request()
    seen = {}
    while erasure.step is not ErasureStep.DONE:
        seen[erasure.step] = erasure.secret is not None
        result = await world.runner().run(erasure, 0)
        world.clock.now_s = max(world.clock.now_s, (result.wait_until_ms or 0) / 1000)
        erasure = world.store.rows[ACME, ANNA]
    assert [step for step, has_secret in seen.items() if not has_secret] == [ErasureStep.FINAL]


def test_a_pseudonym_depends_on_secret_and_chat_only() -> None:
    chats = [ChatKey(ACME, ChatId(f"g{n}")) for n in range(100)]
    names = {rules.pseudonym(b"s" * 32, chat) for chat in chats}
    assert len(names) == len(chats)
    assert names == {rules.pseudonym(b"s" * 32, chat) for chat in chats}
    assert names.isdisjoint(rules.pseudonym(b"t" * 32, chat) for chat in chats)
    assert all(is_pseudonym(name) and is_user_id(name) for name in names)


@pytest.mark.parametrize(
    "user", ["erased", "erased-", "erased-ABCDEFGHIJKLMNOPQRSTUVWXYZ", "xerased-" + "a" * 26]
)
def test_other_ids_are_no_pseudonyms(user: str) -> None:
    assert not is_pseudonym(UserId(user))
