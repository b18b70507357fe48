"""A verdict for people and for programs."""

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


def render_verdict(told: str, breaches: Sequence[Violation[Any]]) -> list[str]:
    """What a page says of any verdict: how it is, of what, and each rule that was broken with a few places."""
    lines = ["**Promises were broken.**" if breaches else "No promise was broken.", "", told]
    for breach in breaches:
        examples = (f"- {each}" for each in breach.examples)
        lines += ["", f"## {breach.rule.value}: {breach.count:,}", "", *examples]
    return lines


def verdict_page(verdict: Verdict) -> str:
    refused = verdict.sends - verdict.acked - verdict.unsettled
    told = (
        f"{verdict.sends:,} sends, {verdict.acked:,} acknowledged, {refused:,} refused, {verdict.unsettled:,} without a "
        f"known outcome; "
        f"{verdict.deliveries:,} deliveries to {verdict.devices:,} devices, {verdict.unquiet:,} of them not there "
        f"at the end; {verdict.rows:,} rows of chat lists."
    )
    lines = render_verdict(told, verdict.breaches)
    if verdict.torn:
        lines += ["", "Cut short, and left out:", "", *(f"- {each}" for each in verdict.torn)]
    return "\n".join([*lines, ""])
