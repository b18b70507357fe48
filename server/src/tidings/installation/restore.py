"""The end of a restore: a new epoch, and nothing left of what was known of the old one. Each step may be repeated.

1. Nobody is at work. 2. The row is closed, under a new epoch: whoever runs unseen leaves, nobody starts. 3. So long is
waited that nobody can still write under the old one. 4. Kafka, Redis and the queues are emptied. 5. The row is opened.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from tidings.installation import store
from tidings.installation.epoch_watch import TRUSTED_S
from tidings.installation.store import Installation, InstallationStore, RestorePhase
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.platform.redis.options import RedisOptions
from tidings.schema.reconcile import PollPolicy, ProgressEvent
from tidings.schema.tables import apply, diff
from tidings.schema.tables.control_plane import TableControlPlane as Tables
from tidings.schema.tables.declaration import IDEMPOTENCY_KEYS, PENDING_QUEUE, TABLES
from tidings.schema.tables.descriptions import ObservedTable
from tidings.schema.tables.model import Table
from tidings.schema.topics.control_plane import TopicControlPlane as Topics
from tidings.schema.topics.model import TOPICS

FENCE_S: Final = TRUSTED_S + 10.0
"""Longer than an epoch is trusted unseen, and an append repeated after that."""
EMPTIED: Final = (IDEMPOTENCY_KEYS, PENDING_QUEUE)
"""Their rows are answers and envelopes of the time that is gone."""
_DELETE_POLICY: Final = PollPolicy(timeout_s=300, effect_s=60, longest_pause_s=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """`report` hears of each step, for people. `is_fenced`: the operator says that no other region can write."""

    row: InstallationStore
    tables: Tables
    topics: Topics
    redis: RedisOptions
    clock: Clock
    is_on_demand: bool
    report: Callable[[str], None]
    is_fenced: bool = False

    async def finish(self, restored_to: str, *, wait_s: float = FENCE_S) -> Installation:
        """The installation as it is then. The same moment again: it is only said that it was done."""
        found = await self.row.read()
        if found is not None and await self._is_done(found, restored_to):
            return found
        await asyncio.to_thread(self._refuse_replicas)
        await asyncio.to_thread(self._refuse_who_runs)
        closed = await self._close(found, restored_to)
        self.report(f"epoch {closed.epoch}; for {wait_s:.0f} s whoever still runs has time to notice")
        await asyncio.sleep(wait_s)
        await asyncio.to_thread(self._empty)
        opened = replace(closed, phase=RestorePhase.OPEN)
        await self._change(closed, opened)
        return opened

    async def _is_done(self, found: Installation, restored_to: str) -> bool:
        """A copy can't tell of its own restore, which came later: so that row was written after it."""
        is_told = found.restored_to == restored_to and found.phase is RestorePhase.OPEN
        return is_told and found.log_id == await self.row.log_id()

    async def _close(self, found: Installation | None, restored_to: str) -> Installation:
        """The time, because the row is as old as the copy: a number counted up from it may have been given before."""
        epoch = max(self.clock.now_ms() // 1000, found.epoch + 1 if found else 1)
        log_id = await self.row.log_id()
        closed = Installation(epoch, RestorePhase.CLOSED, restored_to, log_id)
        await self._change(found, closed)
        return closed

    async def _change(self, before: Installation | None, after: Installation) -> None:
        if not await self.row.change(before, after):
            raise TidingsError(
                Code.WRITE_CONFLICT,
                "Somebody else finishes a restore of this installation at the same time.",
                hint="Let him; then look with `tidings doctor`.",
            )

    def _refuse_replicas(self) -> None:
        """The new epoch does not reach a region that is cut off: its processes would go on acknowledging messages."""
        names = [self.tables.prefix + table.name for table in TABLES]
        seen = [found for name in names if (found := self.tables.describe(name)) is not None]
        refuse_replicas(seen, is_fenced=self.is_fenced)

    def _refuse_who_runs(self) -> None:
        at_work = [f"the group {name} has {count} members" for name, count in self.topics.working().items()]
        if heard := store.active_channels(self.redis):
            at_work.append(f"gateways listen to {heard} channels in Redis")
        if at_work:
            raise TidingsError(
                Code.STILL_RUNNING,
                f"Processes are still at work: {'; '.join(at_work)}.",
                hint="Stop all of them, everywhere, and run this again. Who was killed is counted for a minute.",
            )

    def _empty(self) -> None:
        self.topics.empty(self.topics.prefix + topic.name for topic in TOPICS)
        self.report("Kafka: the topics are empty")
        self.report(f"Redis: {store.delete_all_keys(self.redis)} keys taken out")
        for table in diff.apply_capacity_mode(EMPTIED, on_demand=self.is_on_demand):
            self._make_anew(table)
            self.report(f"DynamoDB: {table.name} made anew")

    def _make_anew(self, table: Table) -> None:
        name = self.tables.prefix + table.name
        for _ in _DELETE_POLICY.attempts(_DELETE_POLICY.timeout_s):
            if self.tables.describe(name) is None:
                break
            self.tables.drop(table)
        plan = diff.plan_tables([table], {}, prefix=self.tables.prefix, not_known=self.tables.not_known)
        apply.apply_tables(self.tables, plan, _unheard)


def refuse_replicas(seen: Iterable[ObservedTable], *, is_fenced: bool) -> None:
    """Raise `still_running` while another region has an active replica of a table."""
    regions = sorted({region for table in seen for region in table.replicas})
    if regions and not is_fenced:
        raise TidingsError(
            Code.STILL_RUNNING,
            f"Other regions can still write to these tables: {', '.join(regions)}.",
            hint="Remove their replicas (`aws dynamodb update-table --replica-updates`), or take the write permission away"
            " from their processes and pass --other-regions-are-fenced.",
        )


def _unheard(step: ProgressEvent) -> None:
    del step
