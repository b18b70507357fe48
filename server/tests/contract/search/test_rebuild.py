"""The rebuild of the index from the tables."""

from collections.abc import Awaitable, Callable, Sequence
from typing import override

from fixtures.search import SearchEnv, request
from fixtures.use_cases import ANNA, BEN, CLEO, asked, by

from tidings.app.wiring.erasure import documents_by_job
from tidings.erasure.model import Erasure, ErasureId
from tidings.erasure.rules import search_job_of
from tidings.jobs.model import ChunkRef, JobId, JobKind, JobState
from tidings.jobs.service import JobService
from tidings.kernel.failpoints import Failpoints
from tidings.kernel.ids import TenantId, UserId, new_ulid
from tidings.messages.sender import Content
from tidings.search.rebuild import SearchRebuild


class TwoParts:
    """A directory of two parts: anna and cleo, and ben."""

    parts = 2

    async def users_in(self, tenant: TenantId, part: int, /) -> Sequence[UserId]:
        del tenant
        return ([ANNA, CLEO], [BEN])[part]


class AtStep(Failpoints):
    """Calls a function once, at one failpoint."""

    def __init__(self, name: str, act: Callable[[], Awaitable[None]]) -> None:
        self._acts = {name: act}

    @override
    async def hit(self, name: str, /) -> None:
        if (act := self._acts.pop(name, None)) is not None:
            await act()


class NoChunks:
    def publish(self, refs: object) -> None:
        del refs


async def started(search: SearchEnv) -> JobId:
    search.use_rebuild(TwoParts())
    jobs = JobService(search.jobs, NoChunks(), search.use_cases.clock)
    return await SearchRebuild(jobs, TwoParts.parts, search.use_cases.clock).start(search.use_cases.tenant)


async def process(search: SearchEnv, job: JobId, *chunks: int) -> None:
    for chunk in chunks:
        ref = ChunkRef(tenant=search.use_cases.tenant, job=job, chunk=chunk, kind=JobKind.INDEX)
        await search.rebuild.process(ref)
    await search.index.refresh()


async def test_a_rebuild_indexes_the_present_state_of_every_message(search: SearchEnv) -> None:
    use_cases = search.use_cases
    group = await use_cases.group(BEN, CLEO)
    first = await use_cases.send(group, ANNA, "word one")
    second = await use_cases.send(group, ANNA, "word two")
    await use_cases.send(group, CLEO, "word of cleo")
    await use_cases.change.edit(asked(group, ANNA, first.sequence), Content(text="word edited"))
    await use_cases.change.redact(asked(group, ANNA, second.sequence))
    await use_cases.manage.remove(group, by(ANNA), CLEO)
    direct = await use_cases.commands.direct(use_cases.tenant, BEN, CLEO)
    await use_cases.send(direct, BEN, "word in private")
    await search.deliver()
    job = await started(search)
    assert await search.found(BEN, "word") == []
    await process(search, job, 0, 1)
    assert await search.found(BEN, "word") == [], "it starts when every process has the settings"
    use_cases.clock.ahead_ms = 6_000
    await process(search, job, 0)
    assert len(await search.found(ANNA, "word")) == 2
    await process(search, job, 1, 1)
    assert await search.found(BEN, "word") == ["word in private", "word of cleo", "word edited"]
    assert await search.found(CLEO, "two") == []
    progress = await JobService(search.jobs, NoChunks(), use_cases.clock).progress(use_cases.tenant, job)
    assert (progress.state, progress.done, progress.job.total) == (JobState.DONE, 2, 2)


async def test_a_rebuild_of_a_tenant_without_search_indexes_nothing(search: SearchEnv) -> None:
    use_cases = search.use_cases
    await use_cases.send(await use_cases.group(BEN), ANNA, "word")
    await search.deliver()
    job = await started(search)
    search.tenants.has_search[use_cases.tenant] = False
    use_cases.clock.ahead_ms = 6_000
    await process(search, job, 0, 1)
    assert await search.index.tenants() == []


async def test_a_message_that_is_redacted_while_it_is_rebuilt_is_not_found(search: SearchEnv) -> None:
    """The rebuild has read the message when the indexer removes it, and applies what it has read after that."""
    use_cases = search.use_cases
    chat = await use_cases.group(BEN)
    sent = await use_cases.send(chat, ANNA, "secret word")
    await use_cases.send(chat, ANNA, "other word")
    await search.deliver()
    job = await started(search)
    use_cases.clock.ahead_ms = 6_000

    async def redact() -> None:
        await use_cases.change.redact(asked(chat, ANNA, sent.sequence))
        await search.handle()

    search.use_rebuild(TwoParts(), AtStep("search.read", redact))
    await process(search, job, 0)
    indexed = await search.index.find(request(use_cases.tenant, "word", chats=(chat.chat,)))
    assert [each.ref.sequence for each in indexed] == [3]


async def test_a_job_with_a_user_deletes_their_documents_and_no_others(search: SearchEnv) -> None:
    use_cases = search.use_cases
    chat = await use_cases.group(BEN, CLEO)
    await use_cases.send(chat, CLEO, "word of cleo")
    await use_cases.send(chat, BEN, "word of ben")
    await search.handle()
    assert len(await search.found(ANNA, "word")) == 2
    search.use_rebuild(TwoParts())
    jobs = JobService(search.jobs, NoChunks(), use_cases.clock)
    erase = documents_by_job(search.jobs, jobs, search.tenants)
    erasure = Erasure(
        tenant=use_cases.tenant,
        user=CLEO,
        id=ErasureId(new_ulid()),
        requested_ms=use_cases.clock.now_ms(),
        requested_by="test",
        secret=None,
    )
    for _ in range(2):
        assert not await erase(erasure)
    await process(search, search_job_of(erasure).id, 0)
    assert await erase(erasure)
    assert await search.found(ANNA, "word") == ["word of ben"]
    assert not await search.index.has_user(use_cases.tenant, CLEO)
