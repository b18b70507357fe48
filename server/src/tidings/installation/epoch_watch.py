"""Knows which epoch it is, and ends the process when that is over.

A process may write under an epoch only as long as it has lately seen that it still is that one. Whoever raises the
epoch waits for longer than that: so nothing is written under the old one after everything was put back.
"""

import asyncio
import os
from collections.abc import Callable
from typing import Final, final, override

from tidings.installation.store import Installation, InstallationStore, RestorePhase
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
"""So long after it was last seen an epoch may be written under."""
_FAILURE_THRESHOLD: Final = 3


@final
class EpochWatch(Component):
    """Called, it says the epoch, for what is written now; or raises `overloaded`, as the store does that it is read from.

    `leave` ends the process at once. No goodbye: what it still holds, acks and rows, is of an epoch that is over.
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
        self._pulse = HealthTracker(host.clock, "the epoch could not be read", patience=_FAILURE_THRESHOLD)
        self._epoch: int | None = None
        self._seen_at = 0.0
        self._watching: asyncio.Task[None] | None = None

    def __call__(self) -> int:
        if self._epoch is None or self._host.clock.monotonic() - self._seen_at > TRUSTED_S:
            raise TidingsError(Code.OVERLOADED, "The installation's epoch can't be read right now.")
        return self._epoch

    @override
    async def start(self) -> None:
        """A restore that is not finished is a reason not to start; an engine that is away is none."""
        await self._look()
        self._watching = self._host.tasks.spawn("watch the epoch", self._watch())

    @override
    async def stop(self) -> None:
        if self._watching is not None:
            await self._host.tasks.stop(self._watching)

    @override
    def health(self) -> Health:
        return self._pulse.health()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            try:
                await self._look()
            except TidingsError as error:
                log.critical("the epoch is over", reason=error.message, hint=error.hint)
                self._leave(ExitCode.CRASHED)

    async def _look(self) -> None:
        """From before the question on: the answer may be as old as that."""
        asked_at = self._host.clock.monotonic()
        try:
            async with asyncio.timeout(CHECK_EVERY_S):
                found = await self._read()
        except (DynamoError, TimeoutError) as error:
            self._pulse.failed(describe_error(error))
            return
        if self._epoch not in {None, found.epoch}:
            raise TidingsError(
                Code.EPOCH_STALE,
                f"The installation was restored: epoch {found.epoch} has followed epoch {self._epoch}.",
                hint="Nothing is lost by it: started again, the process serves the new one.",
            )
        self._epoch, self._seen_at = found.epoch, asked_at
        self._pulse.answered()

    async def _read(self) -> Installation:
        row = InstallationStore(self._client.value, self._host.clock)
        found = await row.read()
        if found is None:
            await row.begin(Installation(log_id=await row.log_id()))
            found = await row.read() or Installation()
        if self._epoch is None:
            refuse_copied_installation(found, await row.log_id())
        if found.phase is RestorePhase.CLOSED:
            raise TidingsError(
                Code.EPOCH_STALE,
                "A restore is being finished, and nobody serves meanwhile.",
                hint="Wait until `tidings restore finish` has ended. If it was interrupted, run it again.",
            )
        return found


def refuse_copied_installation(found: Installation, log_id: str) -> None:
    """The row says which table it was written for."""
    if found.log_id and log_id and found.log_id != log_id:
        raise TidingsError(
            Code.EPOCH_STALE,
            "The table `messages` is not the one that this installation had: it is a copy, or was made anew.",
            hint="Run `tidings restore finish` before anything starts: docs/howto/restore-from-a-backup.md",
        )
