"""The job sweeper waits while consumers lag and publishes lost chunks again. With a mutant per rule."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

import pytest
from fixtures.job_env import JobEnv

from tidings.jobs import rules
from tidings.jobs.model import ChunkRef, ChunkResult, DueJob, Job
from tidings.jobs.service import JobSweeper
from tidings.kernel.fences import OffsetFence, PartitionProgress, fence_at

ALL = [0, 1, 2, 3]


def published(starts_in_ms: int | None = None, lag: int = 1_000) -> JobEnv:
    """Return a job whose chunks wait behind those of other jobs, in both partitions."""
    env = JobEnv(starts_in_ms)
    env.topic.ends = [lag + 2, lag + 2]
    return env


async def test_chunks_behind_lag_are_not_published_again_however_long_it_takes() -> None:
    env = published()
    for _ in range(12):
        assert await env.look() == []
        env.topic.committed = [at + 50 for at in env.topic.committed]
        env.topic.ends = [at + 60 for at in env.topic.ends]
    env.topic.committed = [1_002, 1_002]
    env.do(*ALL)
    assert await env.look() == []
    assert env.queue == []


async def test_a_lost_chunk_is_published_once_the_consumers_are_past_the_fence_whatever_follows_it() -> None:
    env = published()
    assert await env.look() == []
    env.do(0, 2)
    env.topic.ends = [9_000, 9_000]
    assert await env.look() == []
    env.topic.committed = [1_001, 1_001]
    assert await env.look() == []
    env.topic.committed, env.topic.ends = [1_002, 1_002], [19_000, 19_000]
    assert await env.look() == [1, 3]


async def test_only_chunks_of_a_partition_without_lag_are_published() -> None:
    env = published()
    env.topic.committed[1] = env.topic.ends[1]
    assert await env.look() == [1, 3]
    assert [fence.partition for fence in env.queue[0].fences] == [0]


async def test_a_republished_chunk_is_given_time_before_the_next_attempt() -> None:
    env = published(lag=-2)
    assert await env.look() == ALL
    assert await env.look() == []
    env.topic.ends = [500, 500]
    assert await env.look() == []
    env.topic.committed = [2, 2]
    assert await env.look() == ALL


async def test_a_chunk_that_is_done_while_the_brokers_are_asked_is_not_published() -> None:
    """A worker processes, marks and commits a chunk between the read of the marks and the brokers' answer."""
    env = published()
    env.topic.committed = env.topic.ends
    env.topic.once_asked = lambda: env.do(0, 1, 2)
    assert await env.look() == [3]


async def test_a_job_that_starts_later_is_published_at_its_start_whatever_the_lag() -> None:
    env = published(starts_in_ms=60_000)
    assert await env.look() == ALL
    assert await env.look() == []


async def test_a_log_that_was_lost_explains_nothing() -> None:
    env = published()
    assert await env.look() == []
    env.topic.ends, env.topic.committed = [0, 0], [0, 0]
    assert await env.look() == ALL


async def test_while_the_brokers_do_not_answer_nothing_is_published_and_fences_stay() -> None:
    env = published()
    assert await env.look() == []
    fences, env.topic.is_away = env.queue[0].fences, True
    assert await env.look() == []
    assert env.queue[0].fences == fences != ()
    env.topic.is_away, env.topic.committed = False, [1_002, 1_002]
    assert await env.look() == ALL


type Apply = Callable[[pytest.MonkeyPatch], None]


def asks_nobody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rules, "is_explained_by_lag", lambda *_: False)


def notes_a_fence_at_every_look(patch: pytest.MonkeyPatch) -> None:
    honest = rules.find_lost
    patch.setattr(rules, "find_lost", lambda missing, reached, _: honest(missing, reached, ()))


def keeps_a_passed_fence(patch: pytest.MonkeyPatch) -> None:
    honest = rules.find_lost

    def find_lost(
        missing: Collection[ChunkRef],
        reached: Mapping[ChunkRef, PartitionProgress],
        fences: Collection[OffsetFence],
    ) -> rules.StalledChunks:
        kept = tuple(fences) or tuple({fence_at(place) for place in reached.values()})
        return honest(missing, reached, fences)._replace(fences=kept)

    patch.setattr(rules, "find_lost", find_lost)


def publishes_all_or_nothing(patch: pytest.MonkeyPatch) -> None:
    honest = rules.find_lost

    def find_lost(
        missing: Sequence[ChunkRef],
        reached: Mapping[ChunkRef, PartitionProgress],
        fences: Collection[OffsetFence],
    ) -> rules.StalledChunks:
        found = honest(missing, reached, fences)
        return found._replace(lost=missing if found.lost else ())

    patch.setattr(rules, "find_lost", find_lost)


class Stale:
    """A store that returns the marks of an earlier read."""

    def __init__(self, read: Collection[ChunkResult]) -> None:
        self._read = read

    async def done(self, *_: object) -> Collection[ChunkResult]:
        return self._read


def reads_the_marks_before_the_offsets(patch: pytest.MonkeyPatch) -> None:
    honest = JobSweeper._find_lost

    async def find_lost(
        self: JobSweeper, job: Job, due: DueJob, done: Collection[ChunkResult]
    ) -> rules.StalledChunks:
        with patch.context() as inner:
            inner.setattr(self, "_store", Stale(done))
            return await honest(self, job, due, done)

    patch.setattr(JobSweeper, "_find_lost", find_lost)


def asks_before_the_start(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rules, "has_begun", lambda *_: True)


def forgets_fences_while_the_brokers_are_away(patch: pytest.MonkeyPatch) -> None:
    honest = JobSweeper._find_lost

    async def find_lost(
        self: JobSweeper, job: Job, due: DueJob, done: Collection[ChunkResult]
    ) -> rules.StalledChunks:
        found = await honest(self, job, due, done)
        return found._replace(fences=()) if found == rules.StalledChunks((), due.fences) else found

    patch.setattr(JobSweeper, "_find_lost", find_lost)


MUTANTS = {
    asks_nobody: test_chunks_behind_lag_are_not_published_again_however_long_it_takes,
    notes_a_fence_at_every_look: test_a_lost_chunk_is_published_once_the_consumers_are_past_the_fence_whatever_follows_it,
    keeps_a_passed_fence: test_a_republished_chunk_is_given_time_before_the_next_attempt,
    publishes_all_or_nothing: test_only_chunks_of_a_partition_without_lag_are_published,
    reads_the_marks_before_the_offsets: test_a_chunk_that_is_done_while_the_brokers_are_asked_is_not_published,
    asks_before_the_start: test_a_job_that_starts_later_is_published_at_its_start_whatever_the_lag,
    forgets_fences_while_the_brokers_are_away: (
        test_while_the_brokers_do_not_answer_nothing_is_published_and_fences_stay
    ),
}


@pytest.mark.parametrize(("mutant", "check"), MUTANTS.items())
async def test_every_mutant_is_caught(
    mutant: Apply, check: Callable[[], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        await check()
