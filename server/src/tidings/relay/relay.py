"""The relay of one process: claims shards of the stream, reads them, audits their commits and keeps checkpoints.

Any number of processes may run. They can be started and killed in any order.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from tidings.kernel.clock import Clock
from tidings.kernel.errors import UnavailableError
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.relay.audit import Audit, Backlog
from tidings.relay.model import (
    END,
    ChangeStream,
    ContentExpired,
    EventPublisher,
    Lease,
    RecordPage,
    ShardId,
    StreamShard,
)
from tidings.relay.rules import LogSizeEstimator
from tidings.relay.shards import ReadPolicy, ShardLeases, ShardReader

_log = logging.getLogger(__name__)

_MAX_CONCURRENT_CLAIMS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayTiming:
    """Leases are renewed every third of `lease_s`. The shards of the stream are listed every `discover_every_s`."""

    lease_s: float = 15.0
    discover_every_s: float = 10.0
    round_s: float = 1.0
    max_waiting: int = 20_000
    """Maximum backlog of a shard. The relay stops reading the shard until the backlog is smaller."""

    @property
    def renew_every_s(self) -> float:
        return self.lease_s / 3


@dataclass(slots=True)
class RelayStats:
    read: int = 0
    expired: int = 0
    trimmed: int = 0
    lost: int = 0


@dataclass(slots=True)
class _OwnedShard:
    """A shard that this process reads."""

    backlog: Backlog
    reader: ShardReader
    task: asyncio.Task[None]
    lag_s: float = 0.0

    @property
    def checkpoint(self) -> str | None:
        is_finished = self.reader.is_done and not len(self.backlog)
        return END if is_finished else self.backlog.checkpoint


@dataclass(slots=True, kw_only=True)
class Relay:
    """`on_trimmed` reports that commits left the stream before they were audited: the repair job is needed."""

    stream: ChangeStream
    leases: ShardLeases
    audit: Audit
    publisher: EventPublisher
    clock: Clock
    on_trimmed: Callable[[ShardId], None]
    times: RelayTiming = field(default_factory=RelayTiming)
    read_policy: ReadPolicy = field(default_factory=ReadPolicy)
    failpoints: Failpoints = NO_FAILPOINTS
    counts: RelayStats = field(default_factory=RelayStats)
    sizes: LogSizeEstimator = field(default_factory=LogSizeEstimator)
    lag_s: float = 0.0
    """Age of the last record read, of the shard with the largest lag; 0 if all are read to their end."""
    unhandled_s: float = 0.0
    """Time since the oldest commit of the backlog was read."""
    _owned: dict[ShardId, _OwnedShard] = field(default_factory=dict)
    _shards: Sequence[StreamShard] = ()
    _discovered_at: float = float("-inf")

    async def run(self) -> None:
        """Run until cancelled; then call `stop`. Raises unexpected errors."""
        async with asyncio.TaskGroup() as tasks:
            # Claims can take longer than a lease, so renewals run in a task of their own.
            tasks.create_task(self._run_forever(self.renew, lambda: self.times.renew_every_s))
            tasks.create_task(self._run_forever(self.claim, lambda: self.times.renew_every_s))
            tasks.create_task(self._run_forever(self.check, lambda: self.times.round_s))

    async def stop(self) -> None:
        """Release all leases with their checkpoints, so that other processes can continue at once."""
        for shard in tuple(self._owned):
            # Stop reading first: a record read after the release would be audited by two processes.
            owned = await self._stop_reading(shard)
            try:
                await self.leases.release(shard, owned.checkpoint)
            except UnavailableError as error:
                _log.warning("lease not released, it expires instead: %s", error)

    async def renew(self) -> None:
        """Renew all leases concurrently, drop those that are lost, release those of finished shards."""
        outcomes = await asyncio.gather(*map(self._renew_one, tuple(self._owned)), return_exceptions=True)
        for failed in filter(None, outcomes):
            raise failed

    async def claim(self) -> None:
        """Claim free shards, and at most one that another process holds. Reads the leases once."""
        await self._discover()
        await self._release_trimmed_shards()
        async for claimed in self.leases.claims(self._shards, _MAX_CONCURRENT_CLAIMS):
            if claimed.has_gap:
                self._report_trimmed(claimed.lease.shard)
            self._start_reading(claimed.lease)

    @property
    def held(self) -> int:
        return len(self._owned)

    @property
    def waiting(self) -> int:
        return sum(len(owned.backlog) for owned in tuple(self._owned.values()))

    async def check(self) -> None:
        """Run a round of the audit, and update lag and age for the metrics."""
        await self.audit.round()
        shards, now = tuple(self._owned.values()), self.clock.monotonic()
        seen = [at for owned in shards if (at := owned.backlog.oldest_seen_at) is not None]
        self.lag_s = max((owned.lag_s for owned in shards if not owned.reader.is_at_end), default=0.0)
        self.unhandled_s = now - min(seen) if seen else 0.0

    async def _run_forever(self, do: Callable[[], Awaitable[None]], every_s: Callable[[], float]) -> None:
        while True:
            try:
                await do()
            except UnavailableError as error:
                _log.info("relay waits for an engine: %s", error)
            await asyncio.sleep(every_s())

    async def _renew_one(self, shard: ShardId) -> None:
        owned = self._owned[shard]
        if owned.task.done():
            owned.task.result()
        # Race: the reader adds records and the audit removes others while the renewal is in flight. The checkpoint that we
        # send is the one of now: everything before it is processed, so it is at most too low.
        checkpoint = owned.checkpoint
        await self.failpoints.hit("relay.renews")
        try:
            is_mine = await self.leases.renew(shard, checkpoint)
        except UnavailableError:
            # The lease may have been renewed. Continue until it has certainly expired by our own clock.
            is_mine = self.leases.holds(shard)
        # Race: `claim`, in its own task, finds that the shard has left the stream and releases it while we renew it here.
        if self._owned.get(shard) is not owned:
            return
        if not is_mine:
            self.counts.lost += 1
            self.leases.drop(shard)
            await self._stop_reading(shard)
        elif checkpoint == END:
            await self._stop_reading(shard)
            await self.leases.release(shard, END)
            self._discovered_at = float("-inf")

    async def _stop_reading(self, shard: ShardId) -> _OwnedShard:
        owned = self._owned.pop(shard)
        self.audit.close(shard)
        owned.task.cancel()
        await asyncio.wait([owned.task])
        return owned

    async def _discover(self) -> None:
        now = self.clock.monotonic()
        if now - self._discovered_at >= self.times.discover_every_s:
            self._shards = await self.stream.shards()
            self._discovered_at = now

    async def _release_trimmed_shards(self) -> None:
        """Release shards that left the stream before they were read to their end. Others may still have a backlog."""
        listed = {shard.id for shard in self._shards}
        for shard in [each for each, owned in self._owned.items() if not owned.reader.is_done]:
            if shard not in listed:
                self._report_trimmed(shard)
                owned = await self._stop_reading(shard)
                await self.leases.release(shard, owned.checkpoint)

    def _start_reading(self, lease: Lease) -> None:
        shard = lease.shard
        backlog = self.audit.open(shard, lease.checkpoint)
        reader = ShardReader(
            self.stream,
            shard,
            lease.checkpoint,
            partial(self._on_page, shard),
            self._report_trimmed,
            self.read_policy,
        )
        task = asyncio.create_task(reader.run(), name=f"relay {shard}")
        self._owned[shard] = _OwnedShard(backlog, reader, task)

    async def _on_page(self, shard: ShardId, page: RecordPage) -> None:
        """Publish expirations before the page counts as read, so that no checkpoint passes an unpublished one."""
        await self._publish_expired(
            [r.changes for r in page.records if isinstance(r.changes, ContentExpired)]
        )
        owned = self._owned[shard]
        owned.backlog.add(page.records, self.clock.monotonic())
        self.counts.read += len(page.records)
        self.sizes.add(page.records)
        at_ms = page.records[-1].at_ms
        owned.lag_s = 0.0 if at_ms is None else max(0.0, (self.clock.now_ms() - at_ms) / 1000)
        while len(owned.backlog) >= self.times.max_waiting:  # noqa: ASYNC110 - the audit shortens it, round by round
            await asyncio.sleep(self.times.round_s)

    async def _publish_expired(self, expired: Sequence[ContentExpired]) -> None:
        while expired:
            try:
                await self.publisher.publish_expired(expired)
            except UnavailableError as error:
                _log.info("relay waits for an engine: %s", error)
                await asyncio.sleep(self.times.round_s)
            else:
                self.counts.expired += len(expired)
                return

    def _report_trimmed(self, shard: ShardId) -> None:
        self.counts.trimmed += 1
        self.on_trimmed(shard)
