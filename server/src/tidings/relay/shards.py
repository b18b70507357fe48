"""Leases of shards, and reading a shard. Each open shard is read by one process, and each process has its fair share.

No wall clock is used. A lease has expired when its counter did not change for `lease_s` on the monotonic clock of the
process that watches it. A holder that could not renew it for `lease_s` on its own clock stops reading.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tidings.kernel.clock import Clock
from tidings.kernel.errors import UnavailableError
from tidings.relay import rules
from tidings.relay.model import (
    ChangeStream,
    Lease,
    LeaseStore,
    RecordPage,
    ShardId,
    StreamIteratorExpiredError,
    StreamShard,
    TrimmedError,
)


class _WatchedLease(NamedTuple):
    """A lease as it was last seen, and since when its counter has not changed."""

    lease: Lease
    since: float


class ClaimResult(NamedTuple):
    """`has_gap`: the parent shard left the stream before it was audited."""

    lease: Lease
    has_gap: bool


class _HeldLease(NamedTuple):
    """`since`: when the last successful renewal was started."""

    lease: Lease
    since: float


@dataclass(slots=True)
class ShardLeases:
    store: LeaseStore
    me: str
    clock: Clock
    lease_s: float
    _watched: dict[ShardId, _WatchedLease] = field(default_factory=dict)
    _held: dict[ShardId, _HeldLease] = field(default_factory=dict)
    _finished: dict[ShardId, Lease] = field(default_factory=dict)

    async def claims(self, shards: Sequence[StreamShard], limit: int) -> AsyncIterator[ClaimResult]:
        """Read the leases once, then take up to `limit` that are free, or one that another process holds.

        Ends early if another process was faster, because the leases have changed since they were read.
        """
        by_id = {shard.id: shard for shard in shards}
        leases = await self._read(shards)
        self._watch(leases)
        open_ = rules.may_begin(shards, leases)
        free = {shard for shard in open_ if self._is_free(shard)}
        for _ in range(limit):
            wanted = rules.shards_to_claim(self.me, open_, leases, free)
            if wanted is None or wanted in self._held:
                return
            has_gap = wanted not in leases and rules.has_gap(by_id[wanted], shards, leases)
            # Race: two processes read the same free lease and both try to take it. The write is conditional on the counter
            # that was read, so one of them gets None and reads the leases again in its next round.
            taken = await self._take(wanted, leases.get(wanted))
            if taken is None:
                return
            leases[wanted] = taken
            yield ClaimResult(taken, has_gap)
            # Race: the process that we took this lease from reads the shard until its next renewal fails. Both may
            # republish an entry, which is harmless. The counter keeps it from overwriting our checkpoint.
            if wanted not in free:
                return
            free.discard(wanted)

    async def _read(self, shards: Sequence[StreamShard]) -> dict[ShardId, Lease]:
        """Read the leases. Finished ones stay finished and are most of a day's shards, so they are not read again."""
        parents = {shard.parent for shard in shards if shard.parent is not None}
        wanted = {shard.id for shard in shards} | parents
        known = {shard: lease for shard, lease in self._finished.items() if shard in wanted}
        leases = {**known, **await self.store.read(wanted - known.keys())}
        self._finished = {shard: lease for shard, lease in leases.items() if lease.is_finished}
        return leases

    async def renew(self, shard: ShardId, checkpoint: str | None) -> bool:
        """Renew the lease and set its checkpoint. Return False if another process has it; nothing was changed then."""
        held = self._held.get(shard)
        if held is None:
            return False
        began = self.clock.monotonic()  # before the write, see `holds`
        renewed = await self.store.renew(held.lease, checkpoint)
        if renewed is None:
            self.drop(shard)
            return False
        self._held[shard] = _HeldLease(renewed, began)
        return True

    async def release(self, shard: ShardId, checkpoint: str | None) -> None:
        held = self._held.pop(shard, None)
        if held is not None:
            await self.store.release(held.lease, checkpoint)

    def holds(self, shard: ShardId) -> bool:
        """Report whether the lease is still valid, by our own clock."""
        # Race: we cannot renew, and another process waits for the lease to expire. It counts from when it saw our last
        # write; we count from before we started that write. So we stop reading before it takes the lease.
        held = self._held.get(shard)
        return held is not None and self.clock.monotonic() - held.since < self.lease_s

    def drop(self, shard: ShardId) -> None:
        self._held.pop(shard, None)

    async def _take(self, shard: ShardId, seen: Lease | None) -> Lease | None:
        began = self.clock.monotonic()
        taken = await self.store.take(shard, seen, self.me)
        if taken is not None:
            self._held[shard] = _HeldLease(taken, began)
        return taken

    def _watch(self, leases: rules.LeaseByShard) -> None:
        now = self.clock.monotonic()
        before, self._watched = self._watched, {}
        for shard, lease in leases.items():
            known = before.get(shard)
            is_same = known is not None and known.lease.counter == lease.counter
            self._watched[shard] = known if known is not None and is_same else _WatchedLease(lease, now)

    def _is_free(self, shard: ShardId) -> bool:
        watched = self._watched.get(shard)
        if shard in self._held:
            return False
        if watched is None or watched.lease.holder is None:
            return True
        return self.clock.monotonic() - watched.since >= self.lease_s


type Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPolicy:
    """Wait at least `busy_s` between two reads of a shard, twice as long after each empty one, up to `idle_s`.

    An empty read is charged as well. While reads fail, the wait grows to `longest_s`.
    """

    busy_s: float = 0.4
    idle_s: float = 5.0
    longest_s: float = 20.0


type PageHandler = Callable[[RecordPage], Awaitable[None]]
"""Processes a page before the next is read. Returns when there is room for more."""


@dataclass(slots=True)
class ShardReader:
    """Reads one shard to its end. `read_to`: the last record passed to `on_page`. `is_at_end`: the last page was empty."""

    stream: ChangeStream
    shard: ShardId
    read_to: str | None
    on_page: PageHandler
    on_trimmed: Callable[[ShardId], None]
    policy: ReadPolicy = field(default_factory=ReadPolicy)
    sleep: Sleep = asyncio.sleep
    is_done: bool = False
    is_at_end: bool = False
    _iterator: str | None = None
    _was_at_end: bool = False
    """Whether the last page of this iterator was empty, so that it cannot have missed records."""
    _failures: int = 0
    _empties: int = 0
    """Empty pages in a row."""

    async def run(self) -> None:
        while not self.is_done:
            await self.sleep(await self.step())

    async def step(self) -> float:
        """Try to read a page. Return how long to wait before the next."""
        try:
            page = await self._page()
        except UnavailableError:
            return self._after_failure()
        except StreamIteratorExpiredError:
            self._forget_iterator()
            return self.policy.busy_s
        except TrimmedError:
            self._restart()
            return self.policy.busy_s
        self._failures = 0
        if page.records:
            await self.on_page(page)
            self.read_to = page.records[-1].number
        self._iterator = page.iterator
        self._was_at_end = not page.records
        self.is_done = page.iterator is None
        self.is_at_end = self.is_done or not page.records
        self._empties = 0 if page.records else self._empties + 1
        return rules.backoff_s(self.policy.busy_s, self.policy.idle_s, self._empties)

    async def _page(self) -> RecordPage:
        if self._iterator is None:
            self._iterator = await self.stream.iterator(self.shard, self.read_to)
        return await self.stream.page(self._iterator)

    def _restart(self) -> None:
        """Continue at the oldest record, and report that the records before it cannot be audited.

        An iterator is valid for minutes and a record for a day, so an iterator at the end cannot have missed records.
        DynamoDB Local reports trimmed records for the first record of an empty shard.
        """
        if not self._was_at_end:
            self.on_trimmed(self.shard)
            self.read_to = None
        self._forget_iterator()

    def _forget_iterator(self) -> None:
        self._iterator, self._was_at_end = None, False

    def _after_failure(self) -> float:
        longest = rules.backoff_s(self.policy.busy_s, self.policy.longest_s, self._failures)
        self._failures += 1
        return random.uniform(longest / 2, longest)  # noqa: S311 - spreads retries, not a secret
