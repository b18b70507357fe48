"""Check a history with every rule."""

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

from tidings_harness.checking import device_rules, erasure_rules, log_rules, row_rules
from tidings_harness.checking.history_index import HistoryIndex, column
from tidings_harness.checking.verdict import Rule, Verdict, Violation, merge_verdicts
from tidings_harness.history.epochs import directories
from tidings_harness.history.events import EventKind
from tidings_harness.history.loader import History, load_history

type Check = Callable[[], Iterable[Violation[Rule]]]


def check(history: History) -> Verdict:
    began = time.process_time()
    facts = HistoryIndex(history)
    deliveries, connections = device_rules.DeliveryTable(facts), device_rules.ConnectionTable(facts)
    seconds: dict[str, float] = {"facts": time.process_time() - began}
    found: list[Violation[Rule]] = []
    for name, rule in _rules(facts, deliveries, connections).items():
        began = time.process_time()
        found += rule()
        seconds[name] = time.process_time() - began
    return _verdict(history, facts, found, seconds)


def check_all(directory: Path) -> Verdict:
    """Check the directory of a run: each epoch alone, then combine the verdicts."""
    return merge_verdicts([check(load_history(each)) for each in directories(directory)])


def _rules(
    facts: HistoryIndex, deliveries: device_rules.DeliveryTable, connections: device_rules.ConnectionTable
) -> Mapping[str, Check]:
    return {
        "one_entry": lambda: log_rules.one_entry_per_sequence(facts),
        "one_sequence": lambda: log_rules.one_sequence_per_message(facts),
        "failed": lambda: log_rules.what_failed_never_appears(facts),
        "muted": lambda: log_rules.muted_members_are_silent(facts),
        "banned": lambda: log_rules.banned_users_do_not_join(facts),
        "everything": lambda: device_rules.everybody_gets_everything(facts, deliveries),
        "nothing_else": lambda: device_rules.nothing_outside_a_membership(facts, deliveries),
        "nothing_twice": lambda: device_rules.nothing_twice(facts, connections),
        "no_holes": lambda: device_rules.in_order_without_holes(facts, deliveries, connections),
        "forward": lambda: row_rules.watermarks_go_forward(facts),
        "unread": lambda: row_rules.unread_adds_up(facts),
        "erased": lambda: erasure_rules.erased_messages_are_empty(facts),
        "others": lambda: erasure_rules.an_erasure_changes_nothing_else(facts),
        "admitted": lambda: erasure_rules.erased_users_are_refused(facts),
    }


def _verdict(
    history: History, facts: HistoryIndex, found: list[Violation[Rule]], seconds: Mapping[str, float]
) -> Verdict:
    sent = len(np.unique(column(facts.sends, "message")))
    settled = len(np.unique(np.concatenate([facts.acked["message"], facts.failed["message"]])))
    devices = len(np.flatnonzero(facts.users >= 0))
    return Verdict(
        events=len(history.events),
        sends=sent,
        acked=len(np.unique(facts.acked["message"])),
        unsettled=sent - settled,
        deliveries=len(facts.deliveries),
        devices=devices,
        unquiet=devices - len(np.unique(facts.quiet)),
        rows=len(facts.events(EventKind.ROW)),
        breaches=tuple(found),
        torn=history.torn,
        seconds=seconds,
    )
