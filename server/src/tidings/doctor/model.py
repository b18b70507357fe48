"""The findings of the doctor (check, state, reason, action), and the input of the checks."""

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
    """`details` lists the tables, topics or faults of this finding."""

    check: str
    state: CheckState
    found: str
    why: str = ""
    todo: str = ""
    details: list[str] = []


@dataclass(frozen=True, slots=True)
class DoctorContext:
    """The input of every check: the settings, and this machine."""

    loaded: LoadedSettings
    clock: Clock = field(default_factory=SystemClock)
    admin: tuple[str, ...] = ()
    """`host:port` of processes to check, from the command line."""
    tls: tuple[str, ...] = ()
    """`host:port` of public addresses whose certificates to check, from the command line."""
    prometheus: str | None = None
    """URL of the Prometheus that scrapes the installation, from the command line."""
    has_dev: bool = False
    """`tidings dev` runs here with ports and limits of its own, so those of the settings are only warnings."""

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
        f"{counts[CheckState.WRONG]} wrong",
        _count(counts[CheckState.WARNING], "warning"),
        f"{counts[CheckState.OK]} ok",
    ]
    return Text(", ".join(words), "bold red" if counts[CheckState.WRONG] else "bold yellow")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
