"""Findings for a person at a terminal: what is fine on a line, what is not with the reason and the remedy."""

from collections import Counter
from collections.abc import Iterable

from rich.text import Text

from tidings.run.doctor.model import CheckState, Finding

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
        f"{counts[CheckState.WARNING]} to think about",
        f"{counts[CheckState.OK]} fine",
    ]
    return Text(", ".join(words), "bold red" if counts[CheckState.WRONG] else "bold yellow")
