"""Events of a chat arrive in order while the partitions of a process share what it knows about an endpoint's queue."""

import asyncio

import pytest
from fixtures.loops import until
from fixtures.webhook_queue import QueueEnv, overtaken, run_partitions

from tidings.kernel.ids import ChatId
from tidings.webhooks import worker as worker_module
from tidings.webhooks.model import Endpoint, QueueKind
from tidings.webhooks.worker import PartitionRange, WebhookWorker

CHAT, OTHER = ChatId("g1"), ChatId("g2")
SEEDS, BATCHES = 20, 100


async def test_a_read_of_the_queue_does_not_forget_what_is_queued_meanwhile() -> None:
    env = QueueEnv()
    worker = env.worker()
    await env.handle(worker, 1, CHAT)
    env.refuses = lambda: True
    await env.handle(worker, 1, CHAT)
    env.refuses = lambda: False
    await env.deliver(CHAT)
    env.answered = asyncio.Event()
    reading = asyncio.create_task(env.handle(worker, 2, OTHER))
    await until(lambda: env.reads == 2)
    # While the read of partition 2 is answered, an event of the chat is refused again and queued.
    env.refuses = lambda: True
    await env.handle(worker, 1, CHAT)
    env.refuses = lambda: False
    env.answered.set()
    await reading
    await env.handle(worker, 1, CHAT)
    assert env.first_arrivals(CHAT) == [1, 2]
    await env.deliver(CHAT)
    assert env.first_arrivals(CHAT) == [1, 2, 3, 4]


async def test_a_queue_that_is_too_long_to_remember_is_not_read_again_at_once() -> None:
    env = QueueEnv()
    worker = env.worker()
    env.runs = {ChatId(f"c{n}"): (1, 1) for n in range(1_000)}
    for partition in (1, 2, 1, 2):
        await env.handle(worker, partition, ChatId(f"{partition}"))
    assert env.reads == 1
    assert env.accepted == []
    for chat in list(env.runs):
        await env.deliver(chat)
    env.clock.at += 10
    for partition in (1, 2, 1, 2):
        await env.handle(worker, partition, ChatId(f"{partition}"))
    assert env.reads == 3
    assert env.first_arrivals(ChatId("1")) == env.first_arrivals(ChatId("2")) == [1, 2, 3, 4]


@pytest.fixture(params=["short", "long"])
def queue_length(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return the chats of each partition. With the long queue, a worker cannot remember all that wait."""
    if request.param == "short":
        return 2
    monkeypatch.setattr(worker_module, "_MAX_QUEUED_READ", 4)
    monkeypatch.setattr(worker_module, "_MAX_QUEUED_KNOWN", 3)
    monkeypatch.setattr(worker_module, "_LONG_QUEUE_S", 0.0)
    return 4


async def test_events_arrive_in_order_however_reads_adds_extensions_and_assignments_interleave(
    queue_length: int,
) -> None:
    for seed in range(SEEDS):
        assert overtaken(await run_partitions(seed, BATCHES, chats_each=queue_length)) == {}, seed


async def is_caught(mutant: type[WebhookWorker]) -> bool:
    for seed in range(SEEDS):
        if overtaken(await run_partitions(seed, BATCHES, mutant)):
            return True
    return False


class ReplacingWorker(WebhookWorker):
    """Forgets what was in the queue before a read. A chat that was queued again meanwhile is forgotten, too."""

    async def _read_queue(self, partition: int, endpoint: Endpoint) -> None:
        state = self._state(endpoint)
        if partition in state.read_for:
            return
        before = set(state.queued)
        found = await self._deps.queue.items(endpoint.name, 1_000)
        in_queue = {ChatId(item.key) for item in found if item.kind is QueueKind.RUN}
        state.queued = in_queue | (state.queued - before)
        state.read_for.add(partition)


class FaithfulWorker(WebhookWorker):
    """Does not read the queue again for a partition that another worker had."""

    def _follow(self, where: PartitionRange) -> None:
        del where


class HastyWorker(WebhookWorker):
    """Sends without having read the queue."""

    async def _read_queue(self, partition: int, endpoint: Endpoint) -> None:
        self._state(endpoint).read_for.add(partition)


@pytest.mark.parametrize("mutant", [ReplacingWorker, FaithfulWorker, HastyWorker])
async def test_a_mutant_lets_an_event_overtake_another(mutant: type[WebhookWorker]) -> None:
    assert await is_caught(mutant)


class ForgettingWorker(WebhookWorker):
    """Forgets a long queue, and does not read it again."""

    async def _add_run(self, each: worker_module._LiveRun, first: int, due_ms: int) -> None:
        state = self._state(each.run.endpoint)
        known = set(state.read_for)
        await super()._add_run(each, first, due_ms)
        state.read_for |= known


async def test_a_mutant_that_forgets_a_long_queue_lets_an_event_overtake_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_module, "_MAX_QUEUED_KNOWN", 3)
    assert await is_caught(ForgettingWorker)
