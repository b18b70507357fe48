"""What the doctor finds: what was looked at, how it is, why that matters, what to do. And what it is told beforehand."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import Struct

from tidings.kernel.clock import Clock, SystemClock
from tidings.run.settings.load import LoadedSettings


class CheckState(StrEnum):
    OK = "ok"
    WARNING = "warning"
    WRONG = "wrong"
    SKIPPED = "skipped"


class Finding(Struct, frozen=True, omit_defaults=True):
    """`details` are single things under what was found: tables, topics, faults."""

    check: str
    state: CheckState
    found: str
    why: str = ""
    todo: str = ""
    details: list[str] = []


@dataclass(frozen=True, slots=True)
class DoctorContext:
    """An installation as its settings describe it, seen from this machine."""

    loaded: LoadedSettings
    clock: Clock = field(default_factory=SystemClock)
    admin: tuple[str, ...] = ()
    """`host:port` of processes that somebody asked to look at."""
    has_dev: bool = False
    """`tidings dev` runs here: it has ports and bounds of its own, so those of the settings are no trouble now."""

    @property
    def unless_dev(self) -> CheckState:
        return CheckState.WARNING if self.has_dev else CheckState.WRONG


type Check = Callable[[DoctorContext], Iterable[Finding]]


def ok(check: str, found: str) -> Finding:
    return Finding(check, CheckState.OK, found)


def skipped(check: str, found: str) -> Finding:
    return Finding(check, CheckState.SKIPPED, found)
