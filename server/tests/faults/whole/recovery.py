"""Measure a restore or a failover: what it lost (RPO), and how long no user could send (RTO)."""

import asyncio
import time
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import numpy as np
from fixtures.installation_processes import InstallationProcesses

from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.messages.ports import LogReader
from tidings_harness.history.epochs import directories
from tidings_harness.history.events import EventKind, Events, Outcome
from tidings_harness.history.loader import load_history
from tidings_harness.workload.run import HarnessRun

_S: Final = 1e9
_POLL_S: Final = 0.2
_MEASURED_WITHIN_S: Final = 120.0


class Lost(NamedTuple):
    """Sends that were acknowledged and are not in the log of the recovered tables. `oldest_ns`: the first ack of them.

    `gaps`: entries of any kind that the log lacks below its last one.
    """

    entries: int
    oldest_ns: int | None
    gaps: int


NOTHING_LOST: Final = Lost(0, None, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """The figures of one recovery.

    rpo_entries: sends that were acknowledged and are lost.
    rpo_s: from the acknowledgement of the oldest of them until the last process could no longer write.
    rto_s: from the loss of the tables, or of the region, until the first send was acknowledged.
    delivered_s: until a device received an entry that was sent afterwards.
    """

    rpo_entries: int
    rpo_s: float
    rto_s: float
    delivered_s: float


@dataclass(slots=True, kw_only=True)
class Stopwatch:
    """Take the times of one recovery. Times are those of `time.monotonic_ns`, as in the history."""

    load: HarnessRun
    cut_ns: int
    fenced_ns: int = 0
    lost: Lost = NOTHING_LOST

    @classmethod
    def start(cls, load: HarnessRun) -> Self:
        """Start at the moment in which the tables or the region are lost."""
        return cls(load=load, cut_ns=time.monotonic_ns())

    def fenced(self) -> None:
        """No process can write to the lost tables from now on."""
        self.fenced_ns = time.monotonic_ns()

    async def compare(self, processes: InstallationProcesses) -> None:
        """Compare acknowledgements with the recovered log. Call it before a process writes to that."""
        logs: dict[str, set[int]] = {}
        async with processes.use_cases() as use_cases:
            for group in self.load.groups:
                key = ChatKey(TenantId(processes.space.tenant), ChatId(group.chat))
                logs[group.chat] = await _sequences(use_cases.reader, key)
        history = load_history(directories(self.load.directory)[-1])
        acked = _acknowledged(history.of(EventKind.SENT))
        lost = {
            int(event["message"]): int(event["at_ns"])
            for event in reversed(acked)
            if event["sequence"] not in logs[history.names[event["chat"]]]
        }
        gaps = sum(max(log, default=0) - len(log) for log in logs.values())
        self.lost = Lost(len(lost), min(lost.values(), default=None), gaps)

    async def result(self, within_s: float = _MEASURED_WITHIN_S) -> Recovery:
        """Return the figures when a message has been sent and delivered after the recovery. Raises `TimeoutError`."""
        async with asyncio.timeout(within_s):
            while (found := await asyncio.to_thread(self._times)) is None:  # noqa: ASYNC110 - another process delivers
                await asyncio.sleep(_POLL_S)
        acked_ns, delivered_ns = found
        oldest_ns = self.lost.oldest_ns
        return Recovery(
            rpo_entries=self.lost.entries,
            rpo_s=(self.fenced_ns - oldest_ns) / _S if oldest_ns else 0.0,
            rto_s=(acked_ns - self.cut_ns) / _S,
            delivered_s=(delivered_ns - self.cut_ns) / _S,
        )

    def _times(self) -> tuple[int, int] | None:
        """Return when the first send after the recovery was acknowledged, and when a device received such an entry."""
        history = load_history(directories(self.load.directory)[-1])
        acked = _acknowledged(history.of(EventKind.SENT))
        acked = acked[acked["at_ns"] > self.fenced_ns]
        given = history.of(EventKind.GIVEN)
        given = given[np.isin(given["message"], acked["message"])]
        return (int(acked["at_ns"].min()), int(given["at_ns"].min())) if len(given) else None


async def _sequences(log: LogReader, chat: ChatKey) -> set[int]:
    found, after = set[int](), 0
    while page := await log.between(chat, after, 10**9):
        found.update(entry.sequence for entry in page)
        after = page[-1].sequence
    return found


def _acknowledged(events: Events) -> Events:
    found: Events = events[events["outcome"] == Outcome.OK]
    return found
