"""Write a verdict on inboxes as Markdown and as JSON."""

import json

from tidings_harness.notifications.checker import InboxVerdict
from tidings_harness.report import render_verdict


def as_json(verdict: InboxVerdict) -> str:
    figures = {name: getattr(verdict, name) for name in InboxVerdict._fields if name != "breaches"}
    broken = {breach.rule.value: breach.count for breach in verdict.breaches}
    return json.dumps({"is_good": verdict.is_good, **figures, "breaches": broken}, indent=2) + "\n"


def as_page(verdict: InboxVerdict) -> str:
    summary = (
        f"{verdict.sends:,} sends, {verdict.acked:,} accepted, {verdict.unsettled:,} without a known outcome; "
        f"{verdict.redactions:,} redacted, {verdict.expiring:,} with an expiry, {verdict.ramps:,} in rollouts, {verdict.marks:,} marks, {verdict.reads:,} lists read, "
        f"{verdict.pushes:,} broadcasts pushed to devices."
    )
    return "\n".join([*render_verdict(summary, verdict.breaches), ""])
