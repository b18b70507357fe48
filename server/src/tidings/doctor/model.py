"""What the doctor finds: what was looked at, how it is, why that matters, what to do. And what it is told beforehand."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import Struct
from rich.text import Text

from tidings.app.settings.loader import LoadedSettings
from tidings.kernel.clock import Clock, SystemClock


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


_SYMBOLS = {
    CheckState.OK: ("✓", "green"),
    CheckState.WARNING: ("!", "bold yellow"),
    CheckState.WRONG: ("✗", "bold red"),
    CheckState.SKIPPED: ("-", "dim"),
}
_NAME_WIDTH = 18
_DETAILS = 8


def format_finding(finding: Finding) -> Text:
    sign, style = _SYMBOLS[finding.state]
    quiet = "dim" if finding.state is CheckState.SKIPPED else ""
    text = Text.assemble(
        (f"{sign} ", style), (f"{finding.check:<{_NAME_WIDTH}}", quiet), (finding.found, quiet)
    )
    for detail in finding.details[:_DETAILS]:
        text.append(f"\n      {detail}")
    if more := len(finding.details[_DETAILS:]):
        text.append(f"\n      and {more} more", "dim")
    if finding.why:
        text.append(f"\n    {finding.why}", "dim")
    if finding.todo:
        text.append("\n    → ", style).append(finding.todo)
    return text


def summarize_findings(findings: Iterable[Finding]) -> Text:
    counts = Counter(finding.state for finding in findings)
    if not counts[CheckState.WRONG] and not counts[CheckState.WARNING]:
        return Text(f"all is well: {counts[CheckState.OK]} checked", "bold green")
    words = [
        _count(counts[CheckState.WRONG], "error"),
        _count(counts[CheckState.WARNING], "warning"),
        f"{counts[CheckState.OK]} passed",
    ]
    return Text(", ".join(words), "bold red" if counts[CheckState.WRONG] else "bold yellow")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
