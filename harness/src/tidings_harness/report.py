"""Write a verdict as Markdown and as JSON."""

import json
from collections.abc import Sequence
from typing import Any

from tidings_harness.checking.verdict import Verdict, Violation


def verdict_json(verdict: Verdict) -> str:
    figures = {
        "is_good": verdict.is_good,
        "events": verdict.events,
        "sends": verdict.sends,
        "acked": verdict.acked,
        "unsettled": verdict.unsettled,
        "deliveries": verdict.deliveries,
        "devices": verdict.devices,
        "unquiet": verdict.unquiet,
        "lost": verdict.lost,
        "doubled": verdict.doubled,
        "breaches": {breach.rule.value: breach.count for breach in verdict.breaches},
        "torn": list(verdict.torn),
    }
    return json.dumps(figures, indent=2) + "\n"


def render_verdict(summary: str, breaches: Sequence[Violation[Any]]) -> list[str]:
    """Return the page of a verdict: the result, the numbers, and each violated rule with some examples."""
    lines = ["**Guarantees were violated.**" if breaches else "No guarantee was violated.", "", summary]
    for breach in breaches:
        examples = (f"- {each}" for each in breach.examples)
        lines += ["", f"## {breach.rule.value}: {breach.count:,}", "", *examples]
    return lines


def verdict_page(verdict: Verdict) -> str:
    refused = verdict.sends - verdict.acked - verdict.unsettled
    summary = (
        f"{verdict.sends:,} sends, {verdict.acked:,} acknowledged, {refused:,} rejected, {verdict.unsettled:,} without a "
        f"known outcome; "
        f"{verdict.deliveries:,} deliveries to {verdict.devices:,} devices, {verdict.unquiet:,} of them not connected "
        f"at the end; {verdict.rows:,} chat rows read."
    )
    lines = render_verdict(summary, verdict.breaches)
    if verdict.torn:
        lines += [
            "",
            "Truncated files, without their incomplete records:",
            "",
            *(f"- {each}" for each in verdict.torn),
        ]
    return "\n".join([*lines, ""])
