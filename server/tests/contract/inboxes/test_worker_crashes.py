"""A worker dies before or after any call: the next worker still delivers one notification to every user."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from fixtures.engines import Namespace
from fixtures.inbox_env import DEFAULT
from fixtures.notifications import NotificationEnv, open_notification_env
from fixtures.tables import Tables

from tidings.jobs.model import ChunkRef
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.operations import AccessPattern

USERS = [f"user{number:03d}" for number in range(104)]
BOUNDARIES = ("jobs.read", "jobs.read_done", "inbox.find_content", "jobs.read_chunk", "jobs.mark_done")
PLACES = [(name, count) for name in BOUNDARIES for count in (1, 2)]
PLACES += [("inbox.deliver", count) for count in (1, 2, 50, 99, 100, 101, 104)]
PLACES += [("inbox.redact_row", count) for count in (1, 50, 100, 101, 104)]


class Death(BaseException):
    """Ends a worker like a signal: no handler catches it."""


class CrashingClient:
    """A client whose process dies at the n-th call of a pattern: before the request, or before the answer."""

    def __init__(self, client: DynamoClient, pattern: str, count: int, *, is_after: bool) -> None:
        self._client = client
        self._pattern = pattern
        self._left = count
        self._is_after = is_after
        self.is_dead = False

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        async def call(pattern: AccessPattern, *args: Any, **more: Any) -> Any:
            self._left -= pattern.name == self._pattern
            is_last = self._left == 0 and pattern.name == self._pattern
            if self.is_dead or (is_last and not self._is_after):
                self.is_dead = True
                raise Death
            answer = await method(pattern, *args, **more)
            if is_last or self.is_dead:
                self.is_dead = True
                raise Death
            return answer

        return call


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("pattern", "count"), PLACES, ids=str)
def test_a_worker_that_dies_at_any_call_loses_nothing(
    tables_dynoxide: Tables, tmp_path: Path, pattern: str, count: int, *, is_after: bool
) -> None:
    asyncio.run(_dies(tables_dynoxide, tmp_path / "tidings.key", pattern, count, is_after=is_after))


@pytest.mark.long
@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("pattern", "count"), [("inbox.deliver", 50), ("inbox.redact_row", 101), ("jobs.mark_done", 1)], ids=str
)
def test_a_worker_that_dies_at_any_call_loses_nothing_on_dynamodb_local(
    tables_local: Tables, tmp_path: Path, pattern: str, count: int, *, is_after: bool
) -> None:
    """Run fewer cases on DynamoDB Local: its transactions are ten times slower, with the cancellation reasons of AWS."""
    asyncio.run(_dies(tables_local, tmp_path / "tidings.key", pattern, count, is_after=is_after))


async def _dies(tables: Tables, key_file: Path, pattern: str, count: int, *, is_after: bool) -> None:
    async with open_notification_env(tables, Namespace().tenant, key_file) as at:
        crashing = CrashingClient(at.client, pattern, count, is_after=is_after)
        sent = await at.send(USERS)
        await work(at, crashing)
        assert await counted(at) == {1}
        recalled = await at.cases.recall.redact(at.tenant, DEFAULT, sent.notification)
        assert await work(at, crashing)
        assert await counted(at) == {0}
        assert [await at.state(job) for job in (sent.job, recalled.job)] == ["done", "done"]


async def work(at: NotificationEnv, crashing: CrashingClient) -> bool:
    """Process all chunks by a worker that may die, then by another, which gets all events again: no offset was committed."""
    refs = at.chunks.take()
    dying = at.process(crashing)  # type: ignore[arg-type]  # quacks like a client until it dies
    is_over = crashing.is_dead or await _has_died(dying.worker, refs)
    for ref in refs if is_over else ():
        await at.cases.worker.process(ref)
    return is_over


async def _has_died(worker: Any, refs: list[ChunkRef]) -> bool:
    try:
        for ref in refs:
            await worker.process(ref)
    except Death:
        return True
    return False


async def counted(at: NotificationEnv) -> set[int]:
    """Return the numbers of notifications of all users, as counted and as listed."""
    found = await asyncio.gather(*(_has(at, user) for user in USERS))
    return set(found)


async def _has(at: NotificationEnv, user: str) -> int:
    rows = (await at.cases.queries.page(at.owner(user), 10)).notifications
    total = await at.total(user)
    assert len(rows) == total
    return total
