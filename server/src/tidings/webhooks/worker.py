"""The webhook worker: send the events of committed entries to the endpoints of their tenant.

1. Find entries that are missing before a chat's entries, and read them from the log. 2. Send the events of each chat and
endpoint in order, for at most `live_s`. 3. Queue what was not delivered. 4. Advance the chat's checkpoint. The caller
commits its Kafka offset after that. Every step may be repeated: a repeated event has the same id.

An endpoint that is slow or fails delays nothing but its own events: they are queued, and `sweeper.py` sends them. A chat
with queued events of an endpoint stays in the queue until all of them are delivered, so that its events keep their order.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tidings.delivery.ports import FollowedLog
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.failpoints import Failpoints
from tidings.kernel.ids import ChatId, ChatKey
from tidings.messages.model import Entry
from tidings.webhooks.endpoints import EndpointDirectory
from tidings.webhooks.events import LogEvents
from tidings.webhooks.model import Endpoint, EndpointName, QueuedItem, QueueKind
from tidings.webhooks.ports import WebhookQueue
from tidings.webhooks.sender import MAX_RUN_S, EventRun, EventSender, WebhookStats

_log = logging.getLogger(__name__)

_MAX_QUEUED_READ = 1_000
_MAX_QUEUED_KNOWN = 2_000
_LONG_QUEUE_S = 10.0
_MAX_CONCURRENT_CHATS = 32
_SLOW_S = 30.0
_HEALTHY_EVERY_S = 600.0

type ChatEntries = tuple[ChatKey, Sequence[Entry]]


class PartitionRange(NamedTuple):
    """The offsets of a batch, both included."""

    partition: int
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """live_s: how long a batch waits for endpoints before its events are queued.
    max_waiting: events of one endpoint that wait in this process. Further ones are queued.
    """

    live_s: float = 1.0
    max_waiting: int = 1_000


@dataclass(slots=True)
class _EndpointState:
    """The state of an endpoint's queue, as this worker knows it.

    queued: chats that have a run in the queue. It may contain chats whose run is done, and lacks none of the
        partitions in `read_for`. Events of other partitions are queued.
    long_until: the queue had too many runs to remember. It is not read again before this time.
    """

    queued: set[ChatId] = field(default_factory=set)
    read_for: set[int] = field(default_factory=set)
    long_until: float = 0.0
    waiting: int = 0
    slow_until: float = 0.0
    healthy_at: float = 0.0


@dataclass(slots=True)
class _LiveRun:
    chat: ChatKey
    run: EventRun
    is_started: bool = False
    claim: QueuedItem | None = None
    task: "asyncio.Task[None] | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookWorkerDeps:
    directory: EndpointDirectory
    events: LogEvents
    followed: FollowedLog
    queue: WebhookQueue
    sender: EventSender
    clock: Clock
    failpoints: Failpoints


class WebhookWorker:
    """Processes at most one batch of a partition at a time: the entries of a chat are in one partition."""

    def __init__(self, deps: WebhookWorkerDeps, stats: WebhookStats, options: WorkerOptions) -> None:
        self._deps = deps
        self._stats = stats
        self._options = options
        self._states: dict[EndpointName, _EndpointState] = {}
        self._next_offset: dict[int, int] = {}
        self._background: set[asyncio.Task[None]] = set()

    async def handle(self, where: PartitionRange, events: Iterable[ChatEntries]) -> None:
        """Deliver or queue the events of a batch. Raises a retryable error if an engine fails; then repeat it."""
        self._follow(where)
        chats = await self._chats_with_endpoints(events)
        if chats:
            progress = await self._deps.followed.progress(chats)
            planned = await gather_limited(
                (self._plan(chat, entries, progress[chat]) for chat, entries in chats.items()),
                _MAX_CONCURRENT_CHATS,
            )
            await self._dispatch(where.partition, [run for runs in planned for run in runs])
            await self._deps.failpoints.hit("webhooks.dispatched")
            await self._deps.followed.advance(chats)
        self._next_offset[where.partition] = where.last + 1
        await self._deps.failpoints.hit("webhooks.handled")

    async def wait_idle(self, within_s: float) -> None:
        """Wait for requests in flight whose events are queued. The rest is repeated by another worker."""
        if self._background:
            await asyncio.wait(list(self._background), timeout=within_s)

    def _follow(self, where: PartitionRange) -> None:
        """Forget what is known about queues if another worker may have processed this partition meanwhile."""
        # Race: the partition moves to another worker and back. That worker may have queued runs of its chats, and
        # sending later entries of these chats at once would overtake them. If the offsets are consecutive, it has
        # committed nothing: the entries that it queued are in this batch again.
        if self._next_offset.get(where.partition) != where.first:
            for state in self._states.values():
                state.read_for.discard(where.partition)

    async def _chats_with_endpoints(self, events: Iterable[ChatEntries]) -> Mapping[ChatKey, list[Entry]]:
        """Group the entries of tenants with endpoints by chat, without repeated ones."""
        chats: dict[ChatKey, dict[int, Entry]] = {}
        for chat, entries in events:
            if await self._deps.directory.enabled(chat.tenant):
                chats.setdefault(chat, {}).update((entry.sequence, entry) for entry in entries)
        return {chat: [found[n] for n in sorted(found)] for chat, found in chats.items()}

    async def _plan(self, chat: ChatKey, entries: Sequence[Entry], done: int) -> list[_LiveRun]:
        fresh = [entry for entry in entries if entry.sequence > done]
        if not fresh:
            return []
        fresh = await self._deps.followed.fill_gaps(chat, done, fresh)
        events = await self._deps.events.of(chat, fresh)
        last = fresh[-1].sequence
        return [
            _LiveRun(chat, EventRun(endpoint, wanted, last))
            for endpoint in await self._deps.directory.enabled(chat.tenant)
            if (wanted := [event for event in events if endpoint.wants(event)])
        ]

    async def _dispatch(self, partition: int, runs: Sequence[_LiveRun]) -> None:
        """Return when every event of the runs is delivered or queued."""
        endpoints = {each.run.endpoint.name: each.run.endpoint for each in runs}
        await gather_limited(self._read_queue(partition, each) for each in endpoints.values())
        decisions = await gather_limited(self._may_send(partition, each) for each in runs)
        live = [each for each, may_send in zip(runs, decisions, strict=True) if may_send]
        queued = [each for each, may_send in zip(runs, decisions, strict=True) if not may_send]
        for each in live:
            each.task = asyncio.create_task(self._send(each))
        tasks = [each.task for each in live if each.task is not None]
        await gather_limited(self._queue_rest(each) for each in queued)
        if tasks:
            await asyncio.wait(tasks, timeout=self._options.live_s)
        await self._deps.failpoints.hit("webhooks.sent")
        await gather_limited(self._finish(each) for each in live)

    async def _read_queue(self, partition: int, endpoint: Endpoint) -> None:
        """Learn which chats have a run in the endpoint's queue, once for each assignment of a partition."""
        state = self._state(endpoint)
        if partition in state.read_for or self._deps.clock.monotonic() < state.long_until:
            return
        found = await self._deps.queue.items(endpoint.name, _MAX_QUEUED_READ)
        if len(found) >= _MAX_QUEUED_READ:
            state.long_until = self._deps.clock.monotonic() + _LONG_QUEUE_S
            return
        # Race: the worker of another partition queues a run during this read, which may lack it. A read only adds chats;
        # `extend` finds out which runs are done.
        state.queued |= {ChatId(item.key) for item in found if item.kind is QueueKind.RUN}
        state.read_for.add(partition)

    async def _may_send(self, partition: int, each: _LiveRun) -> bool:
        """Return whether a run may be sent now. False: its chat or the endpoint has queued events, or is slow."""
        state = self._state(each.run.endpoint)
        if partition not in state.read_for:
            return False
        if each.chat.chat in state.queued:
            if await self._deps.queue.extend(each.run.endpoint.name, each.chat, each.run.last):
                each.run.events = ()
                return False
            state.queued.discard(each.chat.chat)
        is_slow = self._deps.clock.monotonic() < state.slow_until
        if is_slow or state.waiting + len(each.run.events) > self._options.max_waiting:
            return False
        state.waiting += len(each.run.events)
        return True

    async def _send(self, each: _LiveRun) -> None:
        state = self._state(each.run.endpoint)
        try:
            async with self._deps.sender.slots.slot(each.run.endpoint.name):
                each.is_started = True
                await self._deps.sender.send(each.run, self._deps.clock.monotonic() + MAX_RUN_S)
        finally:
            state.waiting -= len(each.run.events)
        if each.claim is not None:
            await self._settle(each)

    async def _finish(self, each: _LiveRun) -> None:
        """Queue what a run did not deliver. A request in flight continues, and settles the queued run at its end."""
        task = each.task
        if task is None or task.done():
            if task is not None and (error := task.exception()) is not None:
                raise error
            if each.run.failure is not None:
                await self._queue_rest(each)
            elif self._state(each.run.endpoint).queued:
                await self._mark_healthy(each.run.endpoint)
            return
        self._state(each.run.endpoint).slow_until = self._deps.clock.monotonic() + _SLOW_S
        if not each.is_started:
            task.cancel()
            await self._queue_rest(each)
            return
        # Race: the request ends while the run is queued. The claim is set after the write, and the side that comes second
        # settles the run. If neither does, the claim expires and the events are sent again.
        first, until_ms = each.run.unsent, self._deps.clock.now_ms() + self._deps.sender.claim_ms
        claim = QueuedItem(
            endpoint=each.run.endpoint.name,
            kind=QueueKind.RUN,
            key=each.chat.chat,
            first=first,
            last=each.run.last,
            due_ms=until_ms,
        )
        self._background.add(task)
        task.add_done_callback(self._on_background_end)
        await self._add_run(each, first, until_ms)
        each.claim = claim
        if task.done():
            await self._settle(each)

    async def _queue_rest(self, each: _LiveRun) -> None:
        if not each.run.events:
            return
        await self._add_run(each, each.run.unsent, each.run.next_ms or self._deps.clock.now_ms())
        await self._deps.failpoints.hit("webhooks.queued")

    async def _add_run(self, each: _LiveRun, first: int, due_ms: int) -> None:
        self._stats.queued += 1
        state = self._state(each.run.endpoint)
        state.queued.add(each.chat.chat)
        if len(state.queued) > _MAX_QUEUED_KNOWN:
            # Each partition reads the queue again before it sends the next events, this run included.
            state.queued.clear()
            state.read_for.clear()
        await self._deps.queue.add_run(
            each.run.endpoint.name,
            each.chat,
            first,
            each.run.last,
            due_ms=due_ms,
            attempt=each.run.failure,
            tried_ms=each.run.failed_ms,
        )

    async def _settle(self, each: _LiveRun) -> None:
        claim, each.claim = each.claim, None
        if claim is not None:
            await self._deps.queue.settle(claim, each.run.settled(claim, self._deps.clock.now_ms()))

    def _on_background_end(self, task: "asyncio.Task[None]") -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning("a queued run was not settled, and is sent again: %s", error)

    async def _mark_healthy(self, endpoint: Endpoint) -> None:
        state, now = self._state(endpoint), self._deps.clock.monotonic()
        if now >= state.healthy_at + _HEALTHY_EVERY_S:
            state.healthy_at = now
            await self._deps.queue.mark_healthy(endpoint.name)

    def _state(self, endpoint: Endpoint) -> _EndpointState:
        return self._states.setdefault(endpoint.name, _EndpointState())
