"""A fault test: its name, the invariant that must hold, what it does, and how long the installation may take to heal."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from math import inf

from faults.whole.installation import FaultInstallation
from faults.whole.recovery import Recovery
from tidings_harness.checking.verdict import Verdict
from tidings_harness.workload.run import HarnessRun
from tidings_harness.workload.scenario import Scenario

NOTHING = Verdict(events=0, sends=0, acked=0, unsettled=0, deliveries=0, devices=0, unquiet=0, rows=0)
USUAL = Scenario(groups=2, members=30, devices=2, large_chat_members=104, rate=4)
"""Includes a large chat, because large chats are delivered in a different way."""
USUAL_FULL = Scenario(groups=3, members=90, devices=2, large_chat_members=180, rate=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRun:
    """The installation and the load that a fault acts on.

    `deliveries` is the fault's share of the deliveries of a full run. 0 selects the short form, which takes seconds.
    """

    installation: FaultInstallation
    load: HarnessRun
    deliveries: int = 0
    recoveries: list[Recovery] = field(default_factory=list)
    figures: dict[str, int] = field(default_factory=dict)
    """Other figures for the record of a drill."""

    @property
    def is_short(self) -> bool:
        return not self.deliveries

    def rounds(self, least: int = 1) -> Iterator[int]:
        """Yield round numbers, at least `least` of them.

        The full form continues until the fault's share of deliveries is reached.
        """
        for turn in count():
            if turn >= least and self.load.ledger.delivered >= self.deliveries:
                return
            yield turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault and its limits.

    `inflict` restores the installation when it returns, and raises if the fault had no effect. `heals_within_s` is
    the maximum time until every device has all entries that were committed when the fault ended. It is generous
    enough for a slow and busy machine; the report shows the actual time. Lost and duplicated entries fail the test
    regardless of time.
    """

    name: str
    invariant: str
    fault: str
    inflict: Callable[[FaultRun], Awaitable[None]]
    scenario: Scenario = USUAL
    full_scenario: Scenario = USUAL_FULL
    heals_within_s: float = 180.0
    brokers: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Result of one fault.

    `notes` lists processes that exited unexpectedly and devices that never caught up. `error` is set if the fault
    could not be injected.
    """

    name: str
    verdict: Verdict = NOTHING
    healed_s: float = inf
    took_s: float = 0.0
    notes: tuple[str, ...] = ()
    error: str = ""
    recoveries: tuple[Recovery, ...] = ()
    figures: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_good(self) -> bool:
        is_whole = not self.notes and not self.error and self.healed_s < inf
        return is_whole and self.verdict.is_good and self.verdict.deliveries > 0
