"""Sweep the chats of all tenants from time to time, by one process at a time."""

import asyncio
import logging
import random
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import batched
from typing import Final

from tidings.kernel.clock import Clock
from tidings.kernel.errors import TidingsError
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.kernel.ids import ChatId, TenantId
from tidings.media.ports import SweepLease
from tidings.messages.ports import LogExpiry, LogReader
from tidings.retention.ports import (
    ChatRows,
    LeaseLostError,
    ListTenants,
    RetentionStore,
    TenantUserDirectory,
)
from tidings.tenants.model import TenantStore

INTERVAL_S: Final = 6 * 3600.0
CHATS_READ: Final = 100
END_OF_LOG: Final = 10**15 - 1
"""A sequence after all entries."""
_MAX_KNOWN_CHATS: Final = 500_000
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepDeps:
    store: RetentionStore
    log: LogReader
    expiry: LogExpiry
    tenants: TenantStore
    list_tenants: ListTenants
    users: TenantUserDirectory
    chats: ChatRows
    clock: Clock
    lease: SweepLease | None = None
    failpoints: Failpoints = NO_FAILPOINTS


class TenantSweeper[S](ABC):
    """Takes turns with other processes, and finds the chats of a tenant. `S`: what a sweep counts."""

    name: str

    def __init__(self, deps: SweepDeps, stats: S, interval_s: float) -> None:
        self._turn = deps
        self._interval_s = interval_s
        self.stats = stats
        self.finished_at_ms = deps.clock.now_ms()

    @abstractmethod
    async def sweep(self, tenant: TenantId) -> S:
        """Sweep one tenant, and add what was done to `stats`."""

    async def run(self, *, is_waiting: bool = True) -> None:
        """Sweep from time to time, unless another process does. The times are random, so that all processes take turns.

        is_waiting: whether the first sweep waits as well.
        """
        while True:
            if is_waiting:
                await asyncio.sleep(self._interval_s * random.uniform(0.1, 0.5))  # noqa: S311 - no secret
            is_waiting = True
            try:
                await self.sweep_in_turn()
            except LeaseLostError:
                _log.info("another process took over the sweep of %s", self.name)
            except TidingsError as error:
                if not error.retryable:
                    raise
                _log.warning("a sweep of %s was interrupted: %s", self.name, error)

    async def sweep_in_turn(self) -> None:
        """Sweep as the only process, and at most once in an interval. Raises `LeaseLostError`."""
        lease = self._turn.lease
        if lease is None:
            await self.sweep_all()
        elif await lease.take():
            await self.sweep_all()
            await lease.finish(self._turn.clock.now_ms() + round(self._interval_s * 1000))
        elif lease.finished_at_ms is not None:
            self.finished_at_ms = lease.finished_at_ms

    async def sweep_all(self) -> None:
        """Sweep all tenants, in a random order: processes that are restarted often still reach all of them."""
        tenants = list(await self._turn.list_tenants())
        random.shuffle(tenants)
        for tenant in tenants:
            await self.sweep(tenant)
        self.finished_at_ms = self._turn.clock.now_ms()

    async def _keep_lease(self) -> None:
        lease = self._turn.lease
        if lease is not None and lease.is_held and not await lease.take():
            raise LeaseLostError

    async def _pages_of_chats(self, tenant: TenantId, *, has_all: bool) -> AsyncIterator[Sequence[ChatId]]:
        """Yield the chats with a limit of their own, then, with `has_all`, those of all users."""
        known: set[ChatId] = set()
        for part in batched(await self._turn.store.list_limited(tenant), CHATS_READ):
            known.update(part)
            yield part
        if not has_all:
            return
        parts = list(range(self._turn.users.parts))
        random.shuffle(parts)
        for part_number in parts:
            for user in await self._turn.users.users_in(tenant, part_number):
                after: ChatId | None = None
                while found := await self._turn.chats.chats_of(tenant, user, after, CHATS_READ):
                    after = found[-1][0]
                    new = [chat for chat, _ in found if chat not in known]
                    known = set() if len(known) > _MAX_KNOWN_CHATS else known
                    known.update(new)
                    yield new
