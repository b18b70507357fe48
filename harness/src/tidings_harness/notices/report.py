"""A verdict on inboxes, for people and for programs."""

import json

from tidings_harness.notices.checking import Verdict
from tidings_harness.report import judged


def as_json(verdict: Verdict) -> str:
    figures = {name: getattr(verdict, name) for name in Verdict._fields if name != "breaches"}
    broken = {breach.rule.value: breach.count for breach in verdict.breaches}
    return json.dumps({"is_good": verdict.is_good, **figures, "breaches": broken}, indent=2) + "\n"


def as_page(verdict: Verdict) -> str:
    told = (
        f"{verdict.sends:,} sends, {verdict.acked:,} accepted, {verdict.unsettled:,} without a known outcome; "
        f"{verdict.redactions:,} taken back, {verdict.expiring:,} that expire, {verdict.ramps:,} in steps, {verdict.marks:,} marks, {verdict.looks:,} lists read, "
        f"{verdict.told:,} broadcasts told to devices."
    )
    return "\n".join([*judged(told, verdict.breaches), ""])
