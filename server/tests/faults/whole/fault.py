"""What a fault is: its name, the promise that is to hold, what is done, and how long until all is well again."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from itertools import count
from math import inf

from faults.whole.installation import FaultInstallation
from tidings_harness.checking.verdict import Verdict
from tidings_harness.workload.run import HarnessRun
from tidings_harness.workload.scenario import Scenario

NOTHING = Verdict(events=0, sends=0, acked=0, unsettled=0, deliveries=0, devices=0, unquiet=0, rows=0)
USUAL = Scenario(groups=2, members=30, devices=2, large_chat_members=104, rate=4)
"""With a large chat, which is delivered in another way."""
USUAL_FULL = Scenario(groups=3, members=90, devices=2, large_chat_members=180, rate=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRun:
    """What a fault may use. `deliveries`: its share of a full run; 0: the short form, seconds and not minutes."""

    stand: FaultInstallation
    load: HarnessRun
    deliveries: int = 0

    @property
    def is_short(self) -> bool:
        return not self.deliveries

    def rounds(self, least: int = 1) -> Iterator[int]:
        """So many; in the full form on and on until its share of deliveries has been made."""
        for turn in count():
            if turn >= least and self.load.ledger.delivered >= self.deliveries:
                return
            yield turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """`inflict` leaves everything as it found it, and raises if its fault did nothing to anybody.

    `heals_within_s`: until everybody holds what was committed by then. It is what a slow and busy machine needs; how
    long it took is told. Lost and doubled are not a matter of time.
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
    """`notes`: who ended by himself, who never caught up. `error`: it could not be carried through."""

    name: str
    verdict: Verdict = NOTHING
    healed_s: float = inf
    took_s: float = 0.0
    notes: tuple[str, ...] = ()
    error: str = ""

    @property
    def is_good(self) -> bool:
        is_whole = not self.notes and not self.error and self.healed_s < inf
        return is_whole and self.verdict.is_good and self.verdict.deliveries > 0
