"""A verdict for people and for programs."""

import json

from tidings_harness.checking.verdict import Verdict


def as_json(verdict: Verdict) -> str:
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


def as_page(verdict: Verdict) -> str:
    told = (
        f"{verdict.sends:,} sends, {verdict.acked:,} acknowledged, {verdict.unsettled:,} without a known outcome; "
        f"{verdict.deliveries:,} deliveries to {verdict.devices:,} devices, {verdict.unquiet:,} of them not there "
        f"at the end; {verdict.rows:,} rows of chat lists."
    )
    lines = ["No promise was broken." if verdict.is_good else "**Promises were broken.**", "", told]
    for breach in verdict.breaches:
        lines += [
            "",
            f"## {breach.rule.value}: {breach.count:,}",
            "",
            *(f"- {each}" for each in breach.examples),
        ]
    if verdict.torn:
        lines += ["", "Cut short, and left out:", "", *(f"- {each}" for each in verdict.torn)]
    return "\n".join([*lines, ""])
