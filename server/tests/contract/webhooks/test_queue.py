"""The queue of webhooks on both engines."""

import asyncio

from fixtures.use_cases import UseCaseEnv
from msgspec.structs import replace

from tidings.kernel.ids import ChatId, ChatKey
from tidings.webhooks.model import Attempt, Backlog, EndpointId, EndpointName, QueuedItem, QueueKind
from tidings.webhooks.store import DynamoWebhookQueue

FAILED = Attempt(latency_ms=3, status=500, reason="the endpoint answered 500 " + "ü" * 300)


class QueueEnv:
    def __init__(self, use_cases: UseCaseEnv) -> None:
        self.queue = DynamoWebhookQueue(use_cases.client, use_cases.clock)
        self.endpoint = EndpointName(use_cases.tenant, EndpointId("01JCQ4Z7N3V5X9B2M8K6T1R0WD"))
        self.chat = ChatKey(use_cases.tenant, ChatId("g1"))
        self.now_ms = use_cases.clock.now_ms()

    async def add(self, first: int, last: int, due_ms: int = 1, **more: object) -> None:
        await self.queue.add_run(self.endpoint, self.chat, first, last, due_ms=due_ms, **more)  # type: ignore[arg-type]

    async def only(self) -> QueuedItem:
        [item] = await self.queue.items(self.endpoint, 10)
        return item

    async def backlog(self) -> Backlog | None:
        found = [each for each in await self.queue.backlogs() if each.endpoint == self.endpoint]
        return found[0] if found else None


async def test_a_run_is_read_back_with_its_failure(use_cases: UseCaseEnv) -> None:
    env = QueueEnv(use_cases)
    await env.add(3, 5, 77, attempt=FAILED, tried_ms=70)
    item = await env.only()
    assert (item.kind, item.chat, item.first, item.last) == (QueueKind.RUN, env.chat, 3, 5)
    assert (item.attempts, item.due_ms, item.tried_ms, item.status) == (1, 77, 70, 500)
    assert item.reason.startswith("the endpoint answered 500 ü")
    assert len(item.reason.encode()) <= 256


async def test_a_second_run_of_a_chat_extends_the_first(use_cases: UseCaseEnv) -> None:
    env = QueueEnv(use_cases)
    await env.add(3, 5, 77, attempt=FAILED)
    await env.add(6, 9, 1)
    item = await env.only()
    assert (item.first, item.last, item.attempts, item.due_ms) == (3, 9, 1, 77)
    await env.add(4, 6)
    assert await env.only() == item


async def test_an_earlier_entry_lowers_the_run_and_ends_its_claim(use_cases: UseCaseEnv) -> None:
    env = QueueEnv(use_cases)
    await env.add(6, 9)
    claimed = await env.queue.claim(await env.only(), env.now_ms + 60_000)
    assert claimed is not None
    await env.add(4, 6)
    await env.queue.settle(claimed, None)
    item = await env.only()
    assert (item.first, item.last, item.due_ms) == (4, 9, 1)


async def test_a_run_is_extended_only_while_it_exists(use_cases: UseCaseEnv) -> None:
    env = QueueEnv(use_cases)
    assert not await env.queue.extend(env.endpoint, env.chat, 9)
    await env.add(3, 5)
    assert await env.queue.extend(env.endpoint, env.chat, 9)
    assert await env.queue.extend(env.endpoint, env.chat, 8)
    assert (await env.only()).last == 9


async def test_of_concurrent_claims_one_succeeds(use_cases: UseCaseEnv) -> None:
    env = QueueEnv(use_cases)
    await env.add(3, 5)
    item = await env.only()
    claims = await asyncio.gather(*(env.queue.claim(item, env.now_ms + n) for n in range(1, 6)))
    assert sum(each is not None for each in claims) == 1


async def test_a_run_that_was_extended_while_it_was_sent_keeps_the_rest(use_cases: UseCaseEnv) -> None:
    env = QueueEnv(use_cases)
    await env.add(3, 5)
    claimed = await env.queue.claim(await env.only(), env.now_ms + 60_000)
    assert claimed is not None
    assert await env.queue.extend(env.endpoint, env.chat, 7)
    await env.queue.settle(claimed, None)
    item = await env.only()
    assert (item.first, item.last, item.attempts) == (6, 7, 0)
    assert item.due_ms <= env.now_ms + 60_000


async def test_a_settled_run_is_gone_and_a_failed_one_waits(use_cases: UseCaseEnv) -> None:
    env = QueueEnv(use_cases)
    await env.add(3, 5)
    claimed = await env.queue.claim(await env.only(), env.now_ms + 60_000)
    assert claimed is not None
    await env.queue.settle(claimed, replace(claimed, first=4, attempts=2, due_ms=99))
    item = await env.only()
    assert (item.first, item.last, item.attempts, item.due_ms) == (4, 5, 2, 99)
    claimed = await env.queue.claim(item, env.now_ms + 60_000)
    assert claimed is not None
    await env.queue.settle(claimed, None)
    assert await env.queue.items(env.endpoint, 10) == []


async def test_without_its_claim_a_worker_settles_nothing(use_cases: UseCaseEnv) -> None:
    env = QueueEnv(use_cases)
    await env.add(3, 5)
    item = await env.only()
    lost = await env.queue.claim(item, env.now_ms + 1)
    assert lost is not None
    assert await env.queue.claim(lost, env.now_ms + 60_000) is not None
    await env.queue.settle(lost, None)
    await env.queue.settle(lost, replace(lost, first=5))
    assert (await env.only()).first == 3


async def test_a_backlog_is_kept_if_an_item_is_queued_before_it_is_forgotten(use_cases: UseCaseEnv) -> None:
    env = QueueEnv(use_cases)
    await env.add(3, 5)
    before = await env.backlog()
    assert before is not None
    await env.add(6, 6)
    assert not await env.queue.finish(before)
    after = await env.backlog()
    assert after is not None
    assert await env.queue.finish(after)
    assert await env.backlog() is None


async def test_one_worker_at_a_time_has_the_lease_of_a_queue(use_cases: UseCaseEnv) -> None:
    env = QueueEnv(use_cases)
    await env.add(3, 5)
    backlog = await env.backlog()
    assert backlog is not None
    now_ms = env.now_ms
    assert await env.queue.lease(backlog, now_ms, now_ms + 100)
    assert not await env.queue.lease(backlog, now_ms + 50, now_ms + 150)
    assert await env.queue.lease(backlog, now_ms + 100, now_ms + 200)
    await env.queue.release(backlog, now_ms + 500, now_ms)
    released = await env.backlog()
    assert released is not None
    assert (released.leased_ms, released.due_ms, released.failing_ms) == (0, now_ms + 500, now_ms)


async def test_a_release_does_not_delay_an_item_that_was_queued_meanwhile(use_cases: UseCaseEnv) -> None:
    env = QueueEnv(use_cases)
    await env.add(3, 5)
    backlog = await env.backlog()
    assert backlog is not None
    await env.add(6, 6)
    await env.queue.release(backlog, env.now_ms + 500_000, 0)
    released = await env.backlog()
    assert released is not None
    assert released.due_ms < env.now_ms + 500_000


async def test_events_and_requests_are_items_of_the_queue_and_a_drop_removes_all(
    use_cases: UseCaseEnv,
) -> None:
    env = QueueEnv(use_cases)
    await env.add(3, 5)
    await env.add(1, 5, kind=QueueKind.REPLAYED)
    event = QueuedItem(endpoint=env.endpoint, kind=QueueKind.EVENT, key="evt_1", first=1, last=1, body=b"{}")
    request = QueuedItem(
        endpoint=env.endpoint, kind=QueueKind.REPLAY, key="01JCQ4Z7N3V5X9B2M8K6T1R0WD", since_ms=7
    )
    await env.queue.add_items([event, request])
    found = {item.kind: item for item in await env.queue.items(env.endpoint, 10)}
    assert set(found) == set(QueueKind)
    assert (found[QueueKind.EVENT], found[QueueKind.REPLAY]) == (event, request)
    assert await env.queue.drop(env.endpoint) == 4
    assert await env.queue.items(env.endpoint, 10) == []
