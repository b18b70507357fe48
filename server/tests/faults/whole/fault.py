"""What a fault is: its name, the promise that is to hold, what is done, and how long until all is well again."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import inf

from faults.whole.stand import Stand
from tidings_harness.checking.verdict import Verdict
from tidings_harness.workload.load import Load
from tidings_harness.workload.scenario import Scenario

NOTHING = Verdict(events=0, sends=0, acked=0, unsettled=0, deliveries=0, devices=0, unquiet=0, rows=0)
USUAL = Scenario(groups=2, members=40, devices=2, rate=4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Doing:
    """What a fault may use. `is_short`: seconds, not minutes."""

    stand: Stand
    load: Load
    is_short: bool

    def times(self, short: int, full: int) -> range:
        return range(short if self.is_short else full)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """`inflict` leaves everything as it found it. `heals_within_s`: until everybody holds what was committed by then."""

    name: str
    invariant: str
    fault: str
    inflict: Callable[[Doing], Awaitable[None]]
    scenario: Scenario = USUAL
    full_scenario: Scenario | None = None
    heals_within_s: float = 60.0
    brokers: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`error`: it could not be carried through, and says nothing of the promise."""

    name: str
    verdict: Verdict = NOTHING
    healed_s: float = inf
    took_s: float = 0.0
    notes: tuple[str, ...] = ()
    error: str = ""

    @property
    def is_good(self) -> bool:
        return self.verdict.is_good and self.healed_s < inf
