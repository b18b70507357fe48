"""Jobs that add members, on both engines: what a job adds, what it refuses, and that no step names a user twice."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

import pytest
from fixtures.loops import AsyncFixture
from fixtures.notifications import CollectedChunks
from fixtures.use_cases import ANNA, BEN, CLEO, UseCaseEnv, by, code_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tidings.app.wiring.inboxes import build_inboxes
from tidings.chats.commands import ChatCommands
from tidings.chats.member_jobs import MemberChunkWorker, MemberJobs
from tidings.chats.model import MAX_JOINS_PER_CALL, Role
from tidings.chats.rules import MAX_INTERVALS
from tidings.jobs.model import ChunkRef, JobId, JobProgress, JobState
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey, UserId, new_ulid
from tidings.messages.model import EntryKind


def some_users(count: int, first: int = 0) -> list[UserId]:
    return [UserId(f"u{number:05d}") for number in range(first, first + count)]


class MemberJobEnv:
    """Member jobs of one process. Its chunks are collected; a test processes them, in any order and number."""

    def __init__(
        self, use_cases: UseCaseEnv, client: Any = None, commands: ChatCommands | None = None
    ) -> None:
        self.use_cases = use_cases
        self.commands = commands or use_cases.commands
        self.chunks = CollectedChunks()
        cases = build_inboxes(
            client or use_cases.client,
            use_cases.ring,
            use_cases.clock,
            self.chunks,
            add_members=MemberChunkWorker(self.commands).add,
        )
        self.jobs, self.worker, self.store = cases.jobs, cases.worker, cases.job_store
        self.members = MemberJobs(self.commands, cases.job_store, cases.jobs, use_cases.clock)

    async def work(self) -> None:
        for ref in self.chunks.take():
            await self.worker.process(ref)

    async def progress(self, job: JobId | None) -> JobProgress:
        assert job is not None
        return await self.jobs.progress(self.use_cases.tenant, job)

    async def add(self, chat: ChatKey, users: Iterable[UserId], key: str = "") -> JobId:
        job = await self.members.add(chat, by(ANNA, key), users)
        assert job is not None
        return job

    async def present(self, chat: ChatKey) -> set[UserId]:
        return {row.user for row in await self.use_cases.rows.members(chat) if row.is_member}

    async def joins(self, chat: ChatKey) -> Counter[UserId]:
        """Count how often the entries of the chat's log name each user as joining, after its creation."""
        return Counter(user for users in await self.join_entries(chat) for user in users)

    async def join_entries(self, chat: ChatKey) -> list[Sequence[UserId]]:
        entries = await self.use_cases.reader.range(chat, 0, 10**9, 200, newest_first=False)
        return [entry.users for entry in entries if entry.kind is EntryKind.JOIN]

    async def is_consistent(self, chat: ChatKey) -> bool:
        row = await self.use_cases.rows.chat(chat)
        return row is not None and row.member_count == len(await self.present(chat))


async def test_a_job_adds_members_in_chunks_of_one_entry_each(use_cases: UseCaseEnv) -> None:
    env, chat, users = MemberJobEnv(use_cases), await use_cases.group(BEN), some_users(200)
    job = await env.add(chat, users)
    assert (await env.progress(job)).state is JobState.RUNNING
    await env.work()
    at = await env.progress(job)
    assert (at.state, at.done, at.failed) == (JobState.DONE, 200, 0)
    assert await env.present(chat) == {ANNA, BEN, *users}
    assert await env.is_consistent(chat)
    assert [len(named) for named in await env.join_entries(chat)] == [96, 96, 8]
    assert (await use_cases.send(chat, users[-1], after=4)).sequence == 5


async def test_as_many_users_as_one_transaction_takes_need_no_job(use_cases: UseCaseEnv) -> None:
    env, chat = MemberJobEnv(use_cases), await use_cases.group(BEN)
    assert await env.members.add(chat, by(ANNA), some_users(MAX_JOINS_PER_CALL)) is None
    assert len(await env.present(chat)) == 2 + MAX_JOINS_PER_CALL


async def test_a_group_with_many_members_exists_before_its_job_is_done(use_cases: UseCaseEnv) -> None:
    env, caller, users = MemberJobEnv(use_cases), by(ANNA, "make"), some_users(120)

    async def create() -> tuple[ChatKey, JobId | None]:
        return await env.members.create_group(use_cases.tenant, caller, "us", users, admit=_admit)

    made = await create()
    assert await create() == made
    assert len(await env.present(made[0])) == MAX_JOINS_PER_CALL
    await env.work()
    assert await env.present(made[0]) == {ANNA, *users}
    assert set((await env.joins(made[0])).values()) == {1}


async def _admit() -> None:
    """Admit every chat."""


async def test_a_retry_returns_the_job_of_the_first_attempt(use_cases: UseCaseEnv) -> None:
    env, chat, users = MemberJobEnv(use_cases), await use_cases.group(BEN), some_users(150)
    job = await env.add(chat, users, "once")
    assert await env.add(chat, users, "once") == job
    assert await code_of(env.add(chat, users[1:], "once")) is Code.IDEMPOTENCY_CONFLICT
    await env.work()
    assert await env.add(chat, users, "once") == job
    await env.work()
    assert set((await env.joins(chat)).values()) == {1}


async def test_the_limit_of_the_tenant_is_checked_before_the_job_starts(use_cases: UseCaseEnv) -> None:
    env, chat = MemberJobEnv(use_cases), await use_cases.group(BEN)
    await env.add(chat, some_users(248))
    await env.work()
    assert await code_of(env.add(chat, some_users(100, first=200))) is Code.CHAT_FULL
    assert env.chunks.take() == []
    await env.add(chat, some_users(200))  # all of them are members: the group does not grow
    use_cases.max_members = 302
    await env.add(chat, some_users(100, first=200))
    too_many = env.members.create_group(use_cases.tenant, by(ANNA), "us", some_users(302), admit=_admit)
    assert await code_of(too_many) is Code.CHAT_FULL


async def test_the_limit_applies_to_each_chunk(use_cases: UseCaseEnv) -> None:
    env, chat = MemberJobEnv(use_cases), await use_cases.group(BEN)
    first, second = await env.add(chat, some_users(200)), await env.add(chat, some_users(200, first=500))
    await env.work()
    assert ((await env.progress(first)).done, (await env.progress(first)).failed) == (200, 0)
    at = await env.progress(second)
    assert (at.state, at.done, at.failed) == (JobState.DONE, 8, 192)  # the last chunk has 8 users
    assert await env.is_consistent(chat)


async def test_a_job_ends_with_the_rights_of_the_user_who_started_it(use_cases: UseCaseEnv) -> None:
    env, chat = MemberJobEnv(use_cases), await use_cases.group(BEN, CLEO)
    await use_cases.manage.change_role(chat, by(ANNA), BEN, Role.ADMIN)
    assert await code_of(env.members.add(chat, by(CLEO), some_users(150))) is Code.FORBIDDEN
    job = await env.members.add(chat, by(BEN), some_users(150))
    refs = env.chunks.take()
    await env.worker.process(refs[0])
    await use_cases.manage.change_role(chat, by(ANNA), BEN, Role.MEMBER)
    for ref in refs:
        await env.worker.process(ref)
    at = await env.progress(job)
    assert (at.state, at.done, at.failed) == (JobState.DONE, 96, 54)


async def test_a_user_who_rejoined_too_often_does_not_stop_the_others(use_cases: UseCaseEnv) -> None:
    env, chat, users = MemberJobEnv(use_cases), await use_cases.group(BEN), some_users(100)
    for _ in range(MAX_INTERVALS):
        await use_cases.manage.add(chat, by(ANNA), users[:1])
        await use_cases.manage.remove(chat, by(ANNA), users[0])
    job = await env.add(chat, users)
    await env.work()
    at = await env.progress(job)
    assert (at.done, at.failed) == (99, 1)
    assert await env.present(chat) == {ANNA, BEN, *users[1:]}


async def test_progress_is_for_users_who_may_add_members(use_cases: UseCaseEnv) -> None:
    env, chat, other = MemberJobEnv(use_cases), await use_cases.group(BEN), await use_cases.group(CLEO)
    job = await env.add(chat, some_users(100))
    assert (await env.members.progress(chat, by(ANNA), job)).job.id == job
    assert await code_of(env.members.progress(chat, by(BEN), job)) is Code.FORBIDDEN
    assert await code_of(env.members.progress(chat, by(CLEO), job)) is Code.CHAT_NOT_FOUND
    assert await code_of(env.members.progress(other, by(ANNA), job)) is Code.JOB_NOT_FOUND
    assert await code_of(env.members.progress(chat, by(ANNA), JobId(new_ulid()))) is Code.JOB_NOT_FOUND


async def test_a_repeated_chunk_does_not_bring_back_a_user_who_left(use_cases: UseCaseEnv) -> None:
    env, chat, users = MemberJobEnv(use_cases), await use_cases.group(BEN), some_users(100)
    job = await env.add(chat, users)
    found, caller = await use_cases.rows.chat(chat), by(ANNA, f"{job}/0")
    assert found is not None
    await env.commands.add_chunk(chat, caller, users[:96])  # a worker dies before it marks the chunk as done
    await use_cases.manage.remove(chat, by(ANNA), users[7])
    use_cases.open_process()
    again = MemberJobEnv(use_cases)
    for ref in env.chunks.take():
        await again.worker.process(ref)
    assert await env.present(chat) == {ANNA, BEN, *users} - {users[7]}
    assert set((await env.joins(chat)).values()) == {1}


class Death(BaseException):
    """Ends a worker like a signal: no handler catches it."""


class DyingClient:
    """A client whose process dies at the n-th call: before the request, or before the answer. 0: it lives."""

    def __init__(self, client: Any, count: int, *, is_after: bool) -> None:
        self._client = client
        self._left = count
        self._is_after = is_after
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        async def call(*args: Any, **more: Any) -> Any:
            self.calls += 1
            if self._left and self.calls >= self._left + self._is_after:
                raise Death
            answer = await method(*args, **more)
            if self._is_after and self.calls == self._left:
                raise Death
            return answer

        return call


def dying_process(use_cases: UseCaseEnv, count: int, *, is_after: bool) -> tuple[MemberJobEnv, DyingClient]:
    """Return the member jobs of a process with its own log views, which dies at its n-th call of the database."""
    client = DyingClient(use_cases.client, count, is_after=is_after)
    other = UseCaseEnv(client, use_cases.tenant, use_cases.key_file)  # type: ignore[arg-type]  # quacks like a client
    return MemberJobEnv(other), client


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
async def test_a_process_that_dies_at_any_call_names_no_user_twice(
    use_cases: UseCaseEnv, *, is_after: bool
) -> None:
    """Kill the process at each of its calls, from the request to the last chunk. Then a new process continues."""
    _, calls = await _kill(use_cases, 0, is_after=is_after)
    assert calls > 20
    for count in range(1, calls + 1):
        died, _ = await _kill(use_cases, count, is_after=is_after)
        assert died, f"the process survived call {count}"


async def _kill(use_cases: UseCaseEnv, count: int, *, is_after: bool) -> tuple[bool, int]:
    chat, users, key = await use_cases.group(BEN), some_users(98), new_ulid()
    dying, client = dying_process(use_cases, count, is_after=is_after)
    has_died = False
    try:
        job = await dying.add(chat, users, key)
        await dying.work()
    except Death:
        has_died = True
    env = MemberJobEnv(use_cases)
    job = await env.add(chat, users, key)
    at = await env.progress(job)
    refs = [
        ChunkRef(tenant=use_cases.tenant, job=job, chunk=number, chat=chat.chat)
        for number in range(at.job.chunks)
    ]
    for ref in [*refs, *refs]:  # the sweeper publishes lost chunks again
        await env.worker.process(ref)
    assert (await env.progress(job)).state is JobState.DONE
    assert await env.present(chat) == {ANNA, BEN, *users}
    assert set((await env.joins(chat)).values()) == {1}
    assert await env.is_consistent(chat)
    return has_died, client.calls


requests = st.lists(
    st.tuples(st.integers(0, 120), st.integers(97, 130), st.booleans()), min_size=1, max_size=3
)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(requests, st.randoms(use_true_random=False))
def test_the_final_members_are_the_union_of_all_requests(
    use_cases: AsyncFixture[UseCaseEnv], wanted: Sequence[tuple[int, int, bool]], random: Random
) -> None:
    """Start overlapping jobs, and process their chunks in a random order, some twice, some at the same time."""

    async def run() -> None:
        async with use_cases.open() as at:
            await _add_all(at, wanted, random)

    asyncio.run(run())


async def _add_all(use_cases: UseCaseEnv, wanted: Sequence[tuple[int, int, bool]], random: Random) -> None:
    env, chat = MemberJobEnv(use_cases), await use_cases.group(BEN)
    expected = {ANNA, BEN}
    for first, count, _ in wanted:
        users = some_users(count, first)
        await env.add(chat, users)
        expected |= set(users)
    refs = env.chunks.take()
    refs += random.sample(refs, len(refs) // 2)
    random.shuffle(refs)
    half = len(refs) // 2 if wanted[0][2] else 0
    await asyncio.gather(*(env.worker.process(ref) for ref in refs[:half]))
    for ref in refs[half:]:
        await env.worker.process(ref)
    assert await env.present(chat) == expected
    assert set((await env.joins(chat)).values()) == {1}
    assert await env.is_consistent(chat)
