"""Finish a restore: start a new epoch, and delete everything that was derived from the old one. Steps are repeatable.

1. Check that no process runs. 2. Close the installation's row under a new epoch: a process that was not seen ends, and
none starts. 3. Wait until no process can still write under the old epoch. 4. Empty Kafka, Redis and the queue tables.
5. Destroy the keys of users who were erased after the backup, and start their erasures and the deletions of tenants again.
6. Open the row.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from tidings.installation import store
from tidings.installation.epoch_watch import TRUSTED_S, refuse_newer_format
from tidings.installation.store import Installation, InstallationStore, RestorePhase
from tidings.kernel.clock import Clock, parse_ms
from tidings.kernel.errors import Code, TidingsError
from tidings.platform.redis.options import RedisOptions
from tidings.schema.reconcile import PollPolicy, ProgressEvent
from tidings.schema.tables import apply, diff
from tidings.schema.tables.declaration import IDEMPOTENCY_KEYS, PENDING_QUEUE, TABLES
from tidings.schema.tables.descriptions import ObservedTable
from tidings.schema.tables.model import DAILY_BACKUP_RETENTION_DAYS, Table
from tidings.schema.topics.control_plane import TopicControlPlane as Topics
from tidings.schema.topics.model import TOPICS

if TYPE_CHECKING:
    # Every process imports this module. botocore, which takes half a second, is for commands only.
    from tidings.schema.tables.control_plane import TableControlPlane as Tables

FENCE_S: Final = TRUSTED_S + 10.0
"""How long step 3 waits: longer than a process trusts an epoch that it read, plus the retries of an append."""
EMPTIED: Final = (IDEMPOTENCY_KEYS, PENDING_QUEUE)
"""Tables that are emptied: their rows are results and queued messages of the old epoch."""
LONGEST_BACKUP_MS: Final = DAILY_BACKUP_RETENTION_DAYS * 86_400_000
"""`user_keys` may have been restored to an earlier time than the other tables, at most this much earlier."""
_DELETE_POLICY: Final = PollPolicy(timeout_s=300, effect_s=60, longest_pause_s=5)


class ErasedAgain(NamedTuple):
    """`keys`: users whose keys were destroyed again. `erasures`, `deletions`: those of users and tenants that start again."""

    keys: int
    erasures: int
    deletions: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """`report` receives a line for each step. `is_fenced`: the operator confirms that no other region can write."""

    row: InstallationStore
    tables: "Tables"
    topics: Topics
    redis: RedisOptions
    clock: Clock
    is_on_demand: bool
    report: Callable[[str], None]
    erase_again: Callable[[int], Awaitable[ErasedAgain]]
    """Erases users and deletes tenants again if tables of this time may have their data."""
    is_fenced: bool = False

    async def finish(self, restored_to: str, *, wait_s: float = FENCE_S) -> Installation:
        """Return the installation after the restore. A restore to the same time that is already finished changes nothing."""
        found = await self.row.read()
        if found is not None and await self._is_done(found, restored_to):
            return found
        if found is not None:
            refuse_newer_format(found)
        await asyncio.to_thread(self._refuse_replicas)
        await asyncio.to_thread(self._refuse_running_processes)
        closed = await self._close(found, restored_to)
        self.report(
            f"epoch {closed.epoch}; waiting {wait_s:.0f} s until every process that still runs has noticed"
        )
        await asyncio.sleep(wait_s)
        await asyncio.to_thread(self._empty)
        erased = await self.erase_again(parse_ms(restored_to))
        self.report(f"DynamoDB: the keys of {erased.keys} erased users destroyed again")
        self.report(
            f"DynamoDB: {erased.erasures} erasures and {erased.deletions} deletions of tenants start again"
        )
        opened = replace(closed, phase=RestorePhase.OPEN)
        await self._change(closed, opened)
        return opened

    async def _is_done(self, found: Installation, restored_to: str) -> bool:
        """Return whether this restore has finished.

        A backup cannot contain the restore that it was used for, so a row with this time was written afterwards.
        """
        is_finished = found.restored_to == restored_to and found.phase is RestorePhase.OPEN
        return is_finished and found.log_id == await self.row.log_id()

    async def _close(self, found: Installation | None, restored_to: str) -> Installation:
        """Write the new epoch, which is the time in seconds.

        The row is as old as the backup: its epoch plus one may have been used after the backup was taken.
        """
        epoch = max(self.clock.now_ms() // 1000, found.epoch + 1 if found else 1)
        log_id = await self.row.log_id()
        closed = replace(
            found or Installation(),
            epoch=epoch,
            phase=RestorePhase.CLOSED,
            restored_to=restored_to,
            log_id=log_id,
        )
        await self._change(found, closed)
        return closed

    async def _change(self, before: Installation | None, after: Installation) -> None:
        if not await self.row.change(before, after):
            raise TidingsError(
                Code.WRITE_CONFLICT,
                "Another command finishes a restore of this installation at the same time.",
                hint="Wait until it has ended, then check with `tidings doctor`.",
            )

    def _refuse_replicas(self) -> None:
        """Refuse while other regions have replicas: the new epoch does not reach a region that is cut off, and its
        processes would continue to acknowledge messages.
        """
        names = [self.tables.prefix + table.name for table in TABLES]
        seen = [found for name in names if (found := self.tables.describe(name)) is not None]
        refuse_replicas(seen, is_fenced=self.is_fenced)

    def _refuse_running_processes(self) -> None:
        running = [f"the group {name} has {count} members" for name, count in self.topics.working().items()]
        if channels := store.active_channels(self.redis):
            running.append(f"gateways subscribe to {channels} channels in Redis")
        if running:
            raise TidingsError(
                Code.STILL_RUNNING,
                f"Processes are still running: {'; '.join(running)}.",
                hint="Stop all of them, everywhere, and run this again. A process that was killed is counted for another minute.",
            )

    def _empty(self) -> None:
        self.topics.empty(self.topics.prefix + topic.name for topic in TOPICS)
        self.report("Kafka: the topics are empty")
        self.report(f"Redis: {store.delete_all_keys(self.redis)} keys deleted")
        for table in diff.apply_capacity_mode(EMPTIED, on_demand=self.is_on_demand):
            self._recreate(table)
            self.report(f"DynamoDB: {table.name} created again")

    def _recreate(self, table: Table) -> None:
        name = self.tables.prefix + table.name
        for _ in _DELETE_POLICY.attempts(_DELETE_POLICY.timeout_s):
            if self.tables.describe(name) is None:
                break
            self.tables.drop(table)
        plan = diff.plan_tables([table], {}, prefix=self.tables.prefix, not_known=self.tables.not_known)
        apply.apply_tables(self.tables, plan, _no_progress)


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


def _no_progress(step: ProgressEvent) -> None:
    del step
