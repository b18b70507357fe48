"""Watch the epoch of the installation, and end the process when a restore starts a new one.

A process writes under an epoch only if it has read that epoch within the last `TRUSTED_S` seconds. `tidings restore finish`
raises the epoch and then waits for longer than that, so no process writes under the old epoch after the restore.
"""

import asyncio
import os
from collections.abc import Callable
from typing import Final, final, override

from tidings.installation.store import NEWEST_FORMAT, Installation, InstallationStore, RestorePhase
from tidings.kernel.errors import Code, TidingsError
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import DynamoError
from tidings.platform.lifecycle.component import (
    Component,
    ExitCode,
    Health,
    HealthTracker,
    ManagedResource,
    describe_error,
)
from tidings.platform.lifecycle.run import ProcessContext
from tidings.platform.telemetry import logs

log = logs.get_logger(__name__)

CHECK_EVERY_S: Final = 5.0
TRUSTED_S: Final = 20.0
"""How long a process may write under an epoch after it last read it."""
_FAILURE_THRESHOLD: Final = 3


@final
class EpochWatch(Component):
    """Read the epoch every few seconds, and end the process when a restore has started a new one.

    `leave` ends the process at once, without a drain: its queued acks and rows belong to the old epoch.
    """

    name = "epoch"

    def __init__(
        self,
        client: ManagedResource[DynamoClient],
        host: ProcessContext,
        leave: Callable[[int], object] = os._exit,
    ) -> None:
        self._client = client
        self._host = host
        self._leave = leave
        self._health = HealthTracker(host.clock, "the epoch could not be read", patience=_FAILURE_THRESHOLD)
        self._epoch: int | None = None
        self._seen_at = 0.0
        self._watching: asyncio.Task[None] | None = None

    def current(self) -> int:
        """Return the epoch to write under. Raise `overloaded` if it was not read in the last `TRUSTED_S` seconds."""
        if self._epoch is None or self._host.clock.monotonic() - self._seen_at > TRUSTED_S:
            raise TidingsError(Code.OVERLOADED, "The installation's epoch cannot be read at the moment.")
        return self._epoch

    @override
    async def start(self) -> None:
        """Read the epoch. An unfinished restore prevents the start; an unavailable DynamoDB does not."""
        await self._refresh()
        self._watching = self._host.tasks.spawn("watch the epoch", self._watch())

    @override
    async def stop(self) -> None:
        if self._watching is not None:
            await self._host.tasks.stop(self._watching)

    @override
    def health(self) -> Health:
        return self._health.health()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            try:
                await self._refresh()
            except TidingsError as error:
                log.critical("a restore has ended this epoch", reason=error.message, hint=error.hint)
                self._leave(ExitCode.CRASHED)

    async def _refresh(self) -> None:
        """Read the epoch. It counts as seen when the read began, because the answer may be that old."""
        asked_at = self._host.clock.monotonic()
        try:
            async with asyncio.timeout(CHECK_EVERY_S):
                found = await self._read()
        except (DynamoError, TimeoutError) as error:
            self._health.failed(describe_error(error))
            return
        if self._epoch not in {None, found.epoch}:
            raise TidingsError(
                Code.EPOCH_STALE,
                f"The installation was restored: epoch {found.epoch} replaces epoch {self._epoch}.",
                hint="Start the process again: it then serves the new epoch. No data is lost.",
            )
        self._epoch, self._seen_at = found.epoch, asked_at
        self._health.answered()

    async def _read(self) -> Installation:
        row = InstallationStore(self._client.value, self._host.clock)
        found = await row.read()
        if found is None:
            await row.begin(Installation(log_id=await row.log_id()))
            found = await row.read() or Installation()
        if self._epoch is None:
            refuse_newer_format(found)
            refuse_copied_installation(found, await row.log_id())
        if found.phase is RestorePhase.CLOSED:
            raise TidingsError(
                Code.EPOCH_STALE,
                "A restore is in progress, and no process serves until it has finished.",
                hint="Wait until `tidings restore finish` has ended. If it was interrupted, run it again.",
            )
        return found


def refuse_newer_format(found: Installation) -> None:
    """Raise `tables_drift` if stored data may have a format that this version cannot read."""
    if found.data_format > NEWEST_FORMAT:
        raise TidingsError(
            Code.TABLES_DRIFT,
            f"The stored data has format {found.data_format}, and this version reads formats up to {NEWEST_FORMAT}.",
            hint="Start the version that wrote it, or a newer one: docs/howto/upgrade.md",
        )


def refuse_copied_installation(found: Installation, log_id: str) -> None:
    """Raise `epoch_stale` if the row was written for another `messages` table than the present one."""
    if found.log_id and log_id and found.log_id != log_id:
        raise TidingsError(
            Code.EPOCH_STALE,
            "The table `messages` is not the one that this installation had: it is a copy, or was created again.",
            hint="Run `tidings restore finish` before anything starts: docs/howto/restore-from-a-backup.md",
        )
