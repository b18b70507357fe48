"""The relay of one process: claims shards, reads them, audits what they tell, and keeps its checkpoints.

Any number of processes may run, started and killed in any order.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tidings.kernel.clock import Clock
from tidings.kernel.errors import UnavailableError
from tidings.kernel.failpoints import NO_PAUSES, Failpoints
from tidings.relay.audit import Audit, Backlog
from tidings.relay.model import END, ContentExpired, Lease, RecordPage, ShardId, StreamShard
from tidings.relay.ports import ChangeStream, EventPublisher
from tidings.relay.rules import LogSizeEstimator
from tidings.relay.shards import ReadPolicy, ShardLeases, ShardReader

_log = logging.getLogger(__name__)

_MAX_CONCURRENT_CLAIMS = 50


class RelayAlerts(Protocol):
    def trimmed(self, shard: ShardId) -> None:
        """Commits have left the stream unread: the repair job is needed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayTiming:
    """Leases are looked after every third of `lease_s`, the stream's shards are listed every `discover_every_s`."""

    lease_s: float = 15.0
    discover_every_s: float = 10.0
    round_s: float = 1.0
    max_waiting: int = 20_000
    """Entries of a shard that may wait to be handled; then it is read no further."""

    @property
    def tend_s(self) -> float:
        return self.lease_s / 3


@dataclass(slots=True)
class RelayStats:
    read: int = 0
    expired: int = 0
    trimmed: int = 0
    lost: int = 0


@dataclass(slots=True)
class _Work:
    """One shard that this process reads."""

    backlog: Backlog
    reading: ShardReader
    task: asyncio.Task[None]
    lag_s: float = 0.0

    @property
    def checkpoint(self) -> str | None:
        is_finished = self.reading.is_done and not len(self.backlog)
        return END if is_finished else self.backlog.checkpoint


@dataclass(slots=True, kw_only=True)
class Relay:
    stream: ChangeStream
    leasing: ShardLeases
    audit: Audit
    outbox: EventPublisher
    clock: Clock
    alerts: RelayAlerts
    times: RelayTiming = field(default_factory=RelayTiming)
    read_policy: ReadPolicy = field(default_factory=ReadPolicy)
    failpoints: Failpoints = NO_PAUSES
    counts: RelayStats = field(default_factory=RelayStats)
    sizes: LogSizeEstimator = field(default_factory=LogSizeEstimator)
    lag_s: float = 0.0
    """How old the last record is that was read, of the shard that is furthest behind; 0 at its end."""
    unhandled_s: float = 0.0
    """How long the oldest commit has waited to be handled."""
    _works: dict[ShardId, _Work] = field(default_factory=dict)
    _shards: Sequence[StreamShard] = ()
    _discovered_at: float = float("-inf")

    async def run(self) -> None:
        """Until it is cancelled; then `stop` hands on what it has. Raises what nobody foresaw."""
        async with asyncio.TaskGroup() as tasks:
            # a task of its own: claims may take longer than a lease lasts
            tasks.create_task(self._run_forever(self.renew, lambda: self.times.tend_s))
            tasks.create_task(self._run_forever(self.claim, lambda: self.times.tend_s))
            tasks.create_task(self._run_forever(self.check, lambda: self.times.round_s))

    async def stop(self) -> None:
        """Others go on at once where this one ends."""
        for shard in tuple(self._works):
            work = await self._end(shard)
            try:
                await self.leasing.release(shard, work.checkpoint)
            except UnavailableError as error:
                _log.warning("a lease was not released, others wait for its end: %s", error)

    async def tend(self) -> None:
        """Renew, then claim, once."""
        await self.renew()
        await self.claim()

    async def renew(self) -> None:
        """Renew all leases concurrently, drop those that are lost, release those of finished shards."""
        outcomes = await asyncio.gather(*map(self._run, tuple(self._works)), return_exceptions=True)
        for failed in filter(None, outcomes):
            raise failed

    async def claim(self) -> None:
        """Claim free shards, and at most one that another process holds. Reads the leases once."""
        await self._discover()
        await self._let_go_of_the_vanished()
        async for claimed in self.leasing.claims(self._shards, _MAX_CONCURRENT_CLAIMS):
            if claimed.has_gap:
                self._trimmed(claimed.lease.shard)
            self._begin(claimed.lease)

    @property
    def held(self) -> int:
        return len(self._works)

    @property
    def waiting(self) -> int:
        return sum(len(work.backlog) for work in tuple(self._works.values()))

    async def check(self) -> None:
        """A round of the audit, and what it shows of the whole."""
        await self.audit.round()
        works, now = tuple(self._works.values()), self.clock.monotonic()
        seen = [at for work in works if (at := work.backlog.oldest_seen_at) is not None]
        self.lag_s = max((work.lag_s for work in works if not work.reading.is_at_end), default=0.0)
        self.unhandled_s = now - min(seen) if seen else 0.0

    async def _run_forever(self, do: Callable[[], Awaitable[None]], every_s: Callable[[], float]) -> None:
        while True:
            try:
                await do()
            except UnavailableError as error:
                _log.info("the relay waits: %s", error)
            await asyncio.sleep(every_s())

    async def _run(self, shard: ShardId) -> None:
        work = self._works[shard]
        if work.task.done():
            work.task.result()
        checkpoint = work.checkpoint
        await self.failpoints.hit("relay.renews")
        try:
            is_mine = await self.leasing.renew(shard, checkpoint)
        except UnavailableError:
            is_mine = self.leasing.holds(shard)
        if self._works.get(shard) is not work:
            return  # it vanished from the stream while it was renewed, and `claim` has let it go
        if not is_mine:
            self.counts.lost += 1
            self.leasing.drop(shard)
            await self._end(shard)
        elif checkpoint == END:
            await self._end(shard)
            await self.leasing.release(shard, END)
            self._discovered_at = float("-inf")

    async def _end(self, shard: ShardId) -> _Work:
        work = self._works.pop(shard)
        self.audit.close(shard)
        work.task.cancel()
        await asyncio.wait([work.task])
        return work

    async def _discover(self) -> None:
        now = self.clock.monotonic()
        if now - self._discovered_at >= self.times.discover_every_s:
            self._shards = await self.stream.shards()
            self._discovered_at = now

    async def _let_go_of_the_vanished(self) -> None:
        """A shard that is listed no more can't be read on. One that was read to its end may still be handled."""
        listed = {shard.id for shard in self._shards}
        for shard in [each for each, work in self._works.items() if not work.reading.is_done]:
            if shard not in listed:
                self._trimmed(shard)
                work = await self._end(shard)
                await self.leasing.release(shard, work.checkpoint)

    def _begin(self, lease: Lease) -> None:
        shard = lease.shard
        backlog = self.audit.open(shard, lease.checkpoint)

        async def take(page: RecordPage) -> None:
            await self._take(shard, page)

        reading = ShardReader(self.stream, shard, lease.checkpoint, take, self._trimmed, self.read_policy)
        task = asyncio.create_task(reading.run(), name=f"relay {shard}")
        self._works[shard] = _Work(backlog, reading, task)

    async def _take(self, shard: ShardId, page: RecordPage) -> None:
        """The expired are told before the page counts as read, so no checkpoint passes one that was not."""
        await self._tell_expired([r.changes for r in page.records if isinstance(r.changes, ContentExpired)])
        work = self._works[shard]
        work.backlog.take(page.records, self.clock.monotonic())
        self.counts.read += len(page.records)
        self.sizes.add(page.records)
        at_ms = page.records[-1].at_ms
        work.lag_s = 0.0 if at_ms is None else max(0.0, (self.clock.now_ms() - at_ms) / 1000)
        while len(work.backlog) >= self.times.max_waiting:  # noqa: ASYNC110 - the audit makes room, round by round
            await asyncio.sleep(self.times.round_s)

    async def _tell_expired(self, gone: Sequence[ContentExpired]) -> None:
        while gone:
            try:
                await self.outbox.expired(gone)
            except UnavailableError as error:
                _log.info("the relay waits: %s", error)
                await asyncio.sleep(self.times.round_s)
            else:
                self.counts.expired += len(gone)
                return

    def _trimmed(self, shard: ShardId) -> None:
        self.counts.trimmed += 1
        self.alerts.trimmed(shard)
