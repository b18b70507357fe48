"""Send what waits in the queues of endpoints. Any number of processes may sweep; one at a time has an endpoint's queue."""

import asyncio
import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tidings.kernel.clock import Clock, parse_ms
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import TidingsError
from tidings.kernel.failpoints import Failpoints
from tidings.webhooks.endpoints import EndpointDirectory, EndpointSwitch
from tidings.webhooks.events import LogEvents
from tidings.webhooks.model import (
    MAX_BACKLOG,
    Backlog,
    Endpoint,
    EndpointName,
    EventType,
    QueuedItem,
    QueueKind,
    WebhookEvent,
)
from tidings.webhooks.ports import ReplaySource, WebhookQueue
from tidings.webhooks.sender import MAX_RUN_S, EventRun, EventSender, WebhookStats

_log = logging.getLogger(__name__)

_LOOK_EVERY_S = 1.0
_MAX_SWEEPS = 64
_MAX_IDLE_MS = 30_000
_STOP_AFTER = 8
_MIN_PAUSE_MS, _MAX_PAUSE_MS = 1_000, 60_000
_READ_ITEMS_PER_S = 1_000
"""A long queue is read less often, so that a failing endpoint with many chats costs a bounded number of reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweeperDeps:
    directory: EndpointDirectory
    switch: EndpointSwitch
    events: LogEvents
    replays: ReplaySource
    queue: WebhookQueue
    sender: EventSender
    clock: Clock
    failpoints: Failpoints


class _SweepResult(NamedTuple):
    """Numbers of runs. `gone`: the endpoint asked to be disabled. `stopped`: the rest was not tried, because it fails."""

    ok: int
    failed: int
    gone: bool
    stopped: bool


@dataclass(slots=True)
class _Sweep:
    """A sweep of one endpoint. It starts nothing after the time `until`, or after several failures in a row.

    Otherwise every outage would cost each waiting chat an attempt. Their next attempts would be hours later, long after
    the endpoint has recovered.
    """

    until: float
    failures: int = 0

    def note(self, run: EventRun | None) -> None:
        if run is not None:
            self.failures = 0 if run.failure is None or run.sent else self.failures + 1

    @property
    def is_stopped(self) -> bool:
        return self.failures >= _STOP_AFTER


class QueueSweeper:
    def __init__(self, deps: SweeperDeps, stats: WebhookStats, disable_after_s: float) -> None:
        self._deps = deps
        self._stats = stats
        self._disable_after_s = disable_after_s
        self._running: dict[EndpointName, asyncio.Task[None]] = {}
        self._not_before: dict[EndpointName, float] = {}
        self.waiting = 0
        """Endpoints with queued events, of all tenants."""
        self.failing = 0
        """Those of them whose every attempt fails."""

    async def run(self) -> None:
        """Sweep until cancelled. An error of an engine delays the affected endpoint."""
        while True:
            try:
                await self.start_due()
            except TidingsError as error:
                if not error.retryable:
                    raise
                _log.warning("the queues of webhooks could not be read: %s", error)
            await asyncio.sleep(_LOOK_EVERY_S * random.uniform(0.5, 1))  # noqa: S311 - no secret

    async def start_due(self) -> None:
        """Start a sweep of each endpoint whose queue is due and that no other process has."""
        now_ms = self._deps.clock.now_ms()
        backlogs = await self._deps.queue.backlogs()
        self.waiting, self.failing = len(backlogs), sum(each.failing_ms > 0 for each in backlogs)
        for backlog in backlogs:
            name = backlog.endpoint
            is_free = name not in self._running and len(self._running) < _MAX_SWEEPS
            is_due = backlog.due_ms <= now_ms and backlog.leased_ms <= now_ms
            if is_due and is_free and self._deps.clock.monotonic() >= self._not_before.get(name, 0.0):
                task = asyncio.create_task(self._sweep_leased(backlog))
                self._running[name] = task
                task.add_done_callback(partial(self._on_end, name))
        known = {backlog.endpoint for backlog in backlogs}
        self._not_before = {name: at for name, at in self._not_before.items() if name in known}

    async def wait_idle(self, within_s: float) -> None:
        """Wait for running sweeps, at most `within_s`, and cancel the rest. Claims and leases expire."""
        tasks = list(self._running.values())
        if tasks:
            await asyncio.wait(tasks, timeout=within_s)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _on_end(self, name: EndpointName, task: "asyncio.Task[None]") -> None:
        self._running.pop(name, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning("the queue of endpoint %s of %s was not processed: %s", name.id, name.tenant, error)

    async def _sweep_leased(self, backlog: Backlog) -> None:
        now_ms = self._deps.clock.now_ms()
        if await self._deps.queue.lease(backlog, now_ms, now_ms + self._deps.sender.claim_ms):
            await self.sweep(backlog)

    async def sweep(self, backlog: Backlog) -> None:
        """Send what is due in an endpoint's queue. The caller has its lease."""
        name = backlog.endpoint
        endpoint = await self._deps.directory.find(name)
        if endpoint is None:
            await self._deps.queue.drop(name)
            await self._deps.queue.finish(backlog)
            return
        items = await self._deps.queue.items(name, MAX_BACKLOG + 1)
        if not items:
            await self._deps.queue.finish(backlog)
            return
        if len(items) > MAX_BACKLOG:
            await self._disable(name, f"Events of more than {MAX_BACKLOG} chats wait for it.")
            return
        self._not_before[name] = self._deps.clock.monotonic() + len(items) / _READ_ITEMS_PER_S
        result = await self._send_due(endpoint, items, backlog)
        await self._release(backlog, items, result)

    async def _send_due(
        self, endpoint: Endpoint, items: Sequence[QueuedItem], backlog: Backlog
    ) -> _SweepResult:
        now_ms = self._deps.clock.now_ms()
        due = [item for item in items if item.due_ms <= now_ms or 0 < item.tried_ms < backlog.retry_ms]
        random.shuffle(due)  # a chat whose event always fails must not be the first one each time
        sweep = _Sweep(self._deps.clock.monotonic() + MAX_RUN_S)
        # An endpoint that failed so far is tried with one item first.
        probed = due[:1] if backlog.failing_ms else []
        runs = [await self._send_item(endpoint, item, sweep) for item in probed]
        if any(run is not None and run.failure is not None for run in runs):
            sweep.failures = _STOP_AFTER
        runs += await gather_limited(
            (self._send_item(endpoint, item, sweep) for item in due[len(probed) :]),
            self._deps.sender.max_concurrent,
        )
        sent = [run for run in runs if run is not None]
        return _SweepResult(
            ok=sum(run.failure is None or run.sent > 0 for run in sent),
            failed=sum(run.failure is not None for run in sent),
            gone=any(run.failure is not None and run.failure.is_gone for run in sent),
            stopped=sweep.is_stopped,
        )

    async def _release(self, backlog: Backlog, items: Sequence[QueuedItem], result: _SweepResult) -> None:
        now_ms, name = self._deps.clock.now_ms(), backlog.endpoint
        failing_ms = backlog.failing_ms
        if result.ok:
            failing_ms = 0
        elif result.failed:
            failing_ms = failing_ms or now_ms
        if result.gone:
            await self._disable(name, "It answered 410 (gone).")
        elif failing_ms and now_ms - failing_ms > self._disable_after_s * 1000:
            hours = round(self._disable_after_s / 3600)
            await self._disable(name, f"Every attempt has failed for {hours} hours.")
        else:
            later = [item.due_ms for item in items if item.due_ms > now_ms]
            has_worked = bool(result.ok or result.failed)
            due_ms = now_ms if has_worked else min([*later, now_ms + _MAX_IDLE_MS])
            if result.stopped:
                # Half as long as it has failed: a long outage costs few requests, and its end is noticed within a minute.
                pause_ms = min(max((now_ms - (failing_ms or now_ms)) // 2, _MIN_PAUSE_MS), _MAX_PAUSE_MS)
                self._not_before[name] = self._deps.clock.monotonic() + pause_ms / 1000
                due_ms = now_ms + pause_ms
            await self._deps.queue.release(backlog, due_ms, failing_ms)

    async def _disable(self, name: EndpointName, reason: str) -> None:
        self._stats.disabled += 1
        _log.warning("webhook endpoint %s of %s is disabled: %s", name.id, name.tenant, reason)
        await self._deps.switch.disable(name, reason)

    async def _send_item(self, endpoint: Endpoint, item: QueuedItem, sweep: _Sweep) -> EventRun | None:
        """Send an item, unless the sweep has ended meanwhile. None: nothing was sent."""
        if sweep.is_stopped or self._deps.clock.monotonic() >= sweep.until:
            return None
        run = await self._send_claimed(endpoint, item, sweep.until)
        sweep.note(run)
        return run

    async def _send_claimed(self, endpoint: Endpoint, item: QueuedItem, until: float) -> EventRun | None:
        """Claim an item, send what it refers to, and settle it."""
        claimed = await self._deps.queue.claim(item, self._deps.clock.now_ms() + self._deps.sender.claim_ms)
        if claimed is None:
            return None
        await self._deps.failpoints.hit("webhooks.claimed")
        match claimed.kind:
            case QueueKind.REPLAY:
                await self._start_replay(claimed)
                return None
            case QueueKind.EVENT:
                run = EventRun(endpoint, [_stored_event(claimed)], claimed.last, claimed.attempts)
                return await self._send_run(claimed, run)
            case _:
                return await self._send_log(endpoint, claimed, until)

    async def _send_log(self, endpoint: Endpoint, claimed: QueuedItem, until: float) -> EventRun | None:
        """Send a run of log entries, a page at a time, until one fails or the sweep ends."""
        at, run = claimed, None
        while at.first <= at.last:
            events = await self._deps.events.between(at.chat, at.first, at.last)
            if not events:
                break
            wanted = [event for event in events if endpoint.wants(event)]
            run = EventRun(endpoint, wanted, events[-1].sequence, at.attempts)
            async with self._deps.sender.slots.slot(endpoint.name):
                await self._deps.sender.send(run, until)
            at = replace(at, attempts=at.attempts if run.sent == 0 else 0)
            if run.failure is not None or run.sent < len(wanted):
                await self._deps.queue.settle(claimed, run.settled(at, self._deps.clock.now_ms()))
                return run
            at = replace(at, first=events[-1].sequence + 1, attempts=0)
        await self._deps.failpoints.hit("webhooks.resent")
        await self._deps.queue.settle(claimed, None)
        return run

    async def _send_run(self, claimed: QueuedItem, run: EventRun) -> EventRun:
        async with self._deps.sender.slots.slot(run.endpoint.name):
            await self._deps.sender.send(run, inf)
        await self._deps.queue.settle(claimed, run.settled(claimed, self._deps.clock.now_ms()))
        return run

    async def _start_replay(self, claimed: QueuedItem) -> None:
        """Queue the runs of a replay. Repeated after a crash: a run that is queued already is only extended."""
        found = await self._deps.replays.runs_since(claimed.endpoint.tenant, claimed.since_ms)
        now_ms = self._deps.clock.now_ms()
        await gather_limited(
            self._deps.queue.add_run(
                claimed.endpoint, chat, first, last, kind=QueueKind.REPLAYED, due_ms=now_ms
            )
            for chat, (first, last) in found.items()
        )
        await self._deps.queue.settle(claimed, None)


class _StoredBody(msgspec.Struct):
    id: str
    type: EventType
    timestamp: str


_decode = msgspec.json.Decoder(_StoredBody).decode


def _stored_event(item: QueuedItem) -> WebhookEvent:
    about = _decode(item.body)
    return WebhookEvent(
        id=about.id, type=about.type, at_ms=parse_ms(about.timestamp), body=item.body, sequence=1
    )
