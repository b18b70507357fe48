"""What making tables and making topics as declared have in common: verdicts, lines of a plan, steps, pace."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

_PAUSE_FIRST_S = 0.05


class ChangeKind(StrEnum):
    CREATE = "create"
    CHANGE = "change"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    UNKNOWN = "unknown extra"


class Severity(StrEnum):
    GOOD = "good"
    CHANGE = "change"
    BAD = "bad"
    QUIET = "quiet"
    PLAIN = "plain"


SEVERITY_STYLES = {
    ChangeKind.CREATE: Severity.GOOD,
    ChangeKind.CHANGE: Severity.CHANGE,
    ChangeKind.UNCHANGED: Severity.QUIET,
    ChangeKind.REFUSED: Severity.BAD,
    ChangeKind.UNKNOWN: Severity.QUIET,
}


@dataclass(frozen=True, slots=True)
class PlanLine:
    """Of a plan, for a person."""

    text: str
    tone: Severity = Severity.PLAIN


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """What is being done to what, for a person who watches. The last one is `done`."""

    name: str
    action: str


@dataclass(frozen=True, slots=True)
class PollPolicy:
    """How long to wait for an engine that works (`timeout_s`) and for one that says it is done (`effect_s`)."""

    timeout_s: float
    effect_s: float
    longest_pause_s: float
    now: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep

    def attempts(self, for_s: float) -> Iterator[None]:
        deadline = self.now() + for_s
        pause_s = _PAUSE_FIRST_S
        yield
        while self.now() < deadline:
            self.pause(pause_s)
            pause_s = min(pause_s * 1.5, self.longest_pause_s)
            yield
