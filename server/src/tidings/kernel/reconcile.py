"""What making tables and making topics as declared have in common: verdicts, lines of a plan, steps, pace."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

_PAUSE_FIRST_S = 0.05


class Verdict(StrEnum):
    CREATE = "create"
    CHANGE = "change"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    UNKNOWN = "unknown extra"


class Tone(StrEnum):
    GOOD = "good"
    CHANGE = "change"
    BAD = "bad"
    QUIET = "quiet"
    PLAIN = "plain"


TONES = {
    Verdict.CREATE: Tone.GOOD,
    Verdict.CHANGE: Tone.CHANGE,
    Verdict.UNCHANGED: Tone.QUIET,
    Verdict.REFUSED: Tone.BAD,
    Verdict.UNKNOWN: Tone.QUIET,
}


@dataclass(frozen=True, slots=True)
class Line:
    """Of a plan, for a person."""

    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Step:
    """What is being done to what, for a person who watches. The last one is `done`."""

    name: str
    doing: str


@dataclass(frozen=True, slots=True)
class Pace:
    """How long to wait for an engine that works (`timeout_s`) and for one that says it is done (`effect_s`)."""

    timeout_s: float
    effect_s: float
    longest_pause_s: float
    now: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep

    def beats(self, for_s: float) -> Iterator[None]:
        deadline = self.now() + for_s
        pause_s = _PAUSE_FIRST_S
        yield
        while self.now() < deadline:
            self.pause(pause_s)
            pause_s = min(pause_s * 1.5, self.longest_pause_s)
            yield
