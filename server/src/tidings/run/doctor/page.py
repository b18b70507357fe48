"""Findings for a person at a terminal: what is fine on a line, what is not with the reason and the remedy."""

from collections import Counter
from collections.abc import Iterable

from rich.text import Text

from tidings.run.doctor.model import Finding, State

_SIGNS = {
    State.OK: ("✓", "green"),
    State.WARNING: ("!", "bold yellow"),
    State.WRONG: ("✗", "bold red"),
    State.SKIPPED: ("-", "dim"),
}
_NAME_WIDTH = 18
_DETAILS = 8


def shown(finding: Finding) -> Text:
    sign, style = _SIGNS[finding.state]
    quiet = "dim" if finding.state is State.SKIPPED else ""
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


def summary(findings: Iterable[Finding]) -> Text:
    counts = Counter(finding.state for finding in findings)
    if not counts[State.WRONG] and not counts[State.WARNING]:
        return Text(f"all is well: {counts[State.OK]} checked", "bold green")
    words = [
        f"{counts[State.WRONG]} wrong",
        f"{counts[State.WARNING]} to think about",
        f"{counts[State.OK]} fine",
    ]
    return Text(", ".join(words), "bold red" if counts[State.WRONG] else "bold yellow")
