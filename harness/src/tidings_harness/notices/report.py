"""A verdict on inboxes, for people and for programs."""

import json

from tidings_harness.notices.checking import Verdict


def as_json(verdict: Verdict) -> str:
    figures = {name: getattr(verdict, name) for name in Verdict._fields if name != "breaches"}
    broken = {breach.rule.value: breach.count for breach in verdict.breaches}
    return json.dumps({"is_good": verdict.is_good, **figures, "breaches": broken}, indent=2) + "\n"


def as_page(verdict: Verdict) -> str:
    told = (
        f"{verdict.sends:,} sends, {verdict.acked:,} accepted, {verdict.unsettled:,} without a known outcome; "
        f"{verdict.redactions:,} taken back, {verdict.marks:,} marks, {verdict.looks:,} lists read, "
        f"{verdict.told:,} broadcasts told to devices."
    )
    lines = ["No promise was broken." if verdict.is_good else "**Promises were broken.**", "", told]
    for breach in verdict.breaches:
        lines += [
            "",
            f"## {breach.rule.value}: {breach.count:,}",
            "",
            *(f"- {each}" for each in breach.examples),
        ]
    return "\n".join(lines) + "\n"
