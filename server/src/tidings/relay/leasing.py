"""Leases between relay processes: each open shard is read by one of them, and every process has its fair share.

Nobody's wall clock counts. A lease is over when its counter did not move for `lease_s` on my own monotonic clock; a
holder gives it up, unasked, when it could not renew it for as long on its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tidings.kernel.clock import Clock
from tidings.relay import rules
from tidings.relay.model import Lease, Shard, ShardId
from tidings.relay.ports import LeaseStore


class _Watched(NamedTuple):
    """A lease as it was last seen, and since when it has looked like this."""

    lease: Lease
    since: float


class Claimed(NamedTuple):
    """`has_gap`: what came before this shard is gone, and was not audited. `was_free`: nobody lost it by this."""

    lease: Lease
    has_gap: bool
    was_free: bool


class _Held(NamedTuple):
    """`since`: when the renewal that made it was begun."""

    lease: Lease
    since: float


@dataclass(slots=True)
class Leasing:
    store: LeaseStore
    me: str
    clock: Clock
    lease_s: float
    _watched: dict[ShardId, _Watched] = field(default_factory=dict)
    _held: dict[ShardId, _Held] = field(default_factory=dict)

    @property
    def held(self) -> Sequence[ShardId]:
        return tuple(self._held)

    async def claim(self, shards: Sequence[Shard]) -> Claimed | None:
        """Looks at all leases and takes at most one."""
        by_id = {shard.id: shard for shard in shards}
        parents = {shard.parent for shard in shards if shard.parent is not None}
        leases = await self.store.read(by_id.keys() | parents)
        self._watch(leases)
        open_ = rules.may_begin(shards, leases)
        over = [shard for shard in open_ if self._is_over(shard)]
        wanted = rules.to_claim(self.me, open_, leases, over)
        if wanted is None or wanted in self._held:
            return None
        taken = await self._take(wanted, leases.get(wanted))
        is_first = wanted not in leases
        has_gap = is_first and rules.has_gap(by_id[wanted], shards, leases)
        return None if taken is None else Claimed(taken, has_gap, wanted in over)

    async def renew(self, shard: ShardId, checkpoint: str | None) -> bool:
        """False: it is mine no longer, and the checkpoint was not moved. Raises `AwayError`."""
        held = self._held.get(shard)
        if held is None:
            return False
        began = self.clock.monotonic()
        renewed = await self.store.renew(held.lease, checkpoint)
        if renewed is None:
            self.drop(shard)
            return False
        self._held[shard] = _Held(renewed, began)
        return True

    async def release(self, shard: ShardId, checkpoint: str | None) -> None:
        held = self._held.pop(shard, None)
        if held is not None:
            await self.store.release(held.lease, checkpoint)

    def is_held(self, shard: ShardId) -> bool:
        """By my own clock, which runs out before anybody else's does: he began to count after I had written."""
        held = self._held.get(shard)
        return held is not None and self.clock.monotonic() - held.since < self.lease_s

    def drop(self, shard: ShardId) -> None:
        self._held.pop(shard, None)

    async def _take(self, shard: ShardId, seen: Lease | None) -> Lease | None:
        began = self.clock.monotonic()
        taken = await self.store.take(shard, seen, self.me)
        if taken is not None:
            self._held[shard] = _Held(taken, began)
        return taken

    def _watch(self, leases: rules.LeaseOf) -> None:
        now = self.clock.monotonic()
        before, self._watched = self._watched, {}
        for shard, lease in leases.items():
            known = before.get(shard)
            is_same = known is not None and known.lease.counter == lease.counter
            self._watched[shard] = known if known is not None and is_same else _Watched(lease, now)

    def _is_over(self, shard: ShardId) -> bool:
        watched = self._watched.get(shard)
        if shard in self._held:
            return False
        if watched is None or watched.lease.holder is None:
            return True
        return self.clock.monotonic() - watched.since >= self.lease_s
