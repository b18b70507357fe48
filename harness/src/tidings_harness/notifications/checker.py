"""Check what users saw in their inboxes against the recorded actions.

Each read is checked alone: notifications that it must contain, must not contain, and must show as read.

A broadcast must reach all users within one second (`BOUND_NS`) of its answer. The same bound holds for a redaction, and
for an expiry because clocks differ. A read counts from its start, so that a slow machine violates no rule. A direct
notification and the last step of a rollout must be present at the end of the run.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import islice
from math import inf
from typing import Final, NamedTuple

from tidings_harness.checking.verdict import Violation
from tidings_harness.notifications.history import Action, Event, InboxRead
from tidings_harness.notifications.history_index import NEVER, InboxHistoryIndex, InboxSpan
from tidings_harness.notifications.lifetimes import EVERYBODY

BOUND_NS: Final = 1_000_000_000
_EXAMPLES: Final = 10


class InboxRule(StrEnum):
    THERE = "an accepted notification reaches every recipient"
    ONCE = "a list shows a notification once"
    NOTHING_ELSE = "a list shows only notifications sent to its user"
    HIDDEN = "a redacted notification is hidden after the bound"
    EXPIRED = "an expired notification is hidden"
    RAMPS = "a rollout keeps its recipients and finally reaches all of them"
    MARKS = "a notification marked as read is read"
    BORN_UNREAD = "an unmarked notification is unread"
    COUNTS = "counts match the list"
    FORWARD = "a read includes the requested sequence"
    TOLD = "a device is notified once, and only of its user's notifications"


class InboxVerdict(NamedTuple):
    sends: int
    acked: int
    unsettled: int
    redactions: int
    expiring: int
    ramps: int
    marks: int
    reads: int
    pushes: int
    breaches: tuple[Violation[InboxRule], ...]

    @property
    def is_good(self) -> bool:
        return not self.breaches

    @property
    def broken(self) -> set[InboxRule]:
        return {breach.rule for breach in self.breaches}


def check_inboxes(events: Sequence[Event]) -> InboxVerdict:
    facts = InboxHistoryIndex(events)
    rules = (
        *(_there, _once, _nothing_else, _hidden, _expired, _ramps),
        *(_marks, _born_unread, _counts, _forward, _told),
    )
    return InboxVerdict(
        sends=sum(each.action in {Action.DIRECT, Action.BROADCAST} for each in facts.begun.values()),
        acked=sum(facts.span(number).done < inf for number in facts.sends),
        unsettled=sum(facts.span(number).done == inf for number in facts.sends),
        redactions=len(facts.redacted),
        expiring=sum(send.expires_ns > 0 for send in facts.sends.values()),
        ramps=sum(bool(send.ramp) for send in facts.sends.values()),
        marks=len(facts.marks) + len(facts.marks_of_all),
        reads=len(facts.reads),
        pushes=len(facts.pushes),
        breaches=tuple(breach for rule in rules for breach in _counted(*rule(facts))),
    )


def _counted(rule: InboxRule, found: Iterable[str]) -> Iterator[Violation[InboxRule]]:
    if places := list(found):
        yield Violation(rule, len(places), tuple(islice(places, _EXAMPLES)))


type _Found = tuple[InboxRule, Iterable[str]]


def _each_look(
    rule: InboxRule, facts: InboxHistoryIndex, find: Callable[[InboxRead], Iterable[int]]
) -> _Found:
    text = (
        f"{look.user}, read at {look.begun_ns / 1e9:.3f}: {facts.begun[number].action if number in facts.begun else 'notification'} {number}"
        for look in facts.reads
        for number in find(look)
    )
    return rule, text


def _there(facts: InboxHistoryIndex) -> _Found:
    def missing(look: InboxRead) -> list[int]:
        seen = {each.number for each in look.seen}
        return [number for number in facts.sends if number not in seen and _must_show(facts, number, look)]

    return _each_look(InboxRule.THERE, facts, missing)


def _must_show(facts: InboxHistoryIndex, number: int, look: InboxRead) -> bool:
    """Check notifications without a rollout, which has its own rule."""
    send, done = facts.sends[number], facts.span(number).done
    if send.ramp or look.user not in facts.reach[number] or _may_be_gone(facts, number, look):
        return False
    if send.action is Action.BROADCAST:
        return look.begun_ns >= done + BOUND_NS
    return look.is_last and done < inf


def _may_be_gone(facts: InboxHistoryIndex, number: int, look: InboxRead) -> bool:
    is_over = look.ended_ns >= facts.expires_ns(number) - BOUND_NS
    return is_over or facts.redacted.get(number, NEVER).begun <= look.ended_ns


def _once(facts: InboxHistoryIndex) -> _Found:
    def doubled(look: InboxRead) -> list[int]:
        return [number for number, count in Counter(each.number for each in look.seen).items() if count > 1]

    return _each_look(InboxRule.ONCE, facts, doubled)


def _nothing_else(facts: InboxHistoryIndex) -> _Found:
    def foreign(look: InboxRead) -> list[int]:
        return [
            each.number
            for each in look.seen
            if look.user not in facts.reach.get(each.number, ())
            or facts.begun[each.number].at_ns > look.ended_ns
        ]

    return _each_look(InboxRule.NOTHING_ELSE, facts, foreign)


def _hidden(facts: InboxHistoryIndex) -> _Found:
    def shown(look: InboxRead) -> list[int]:
        return [
            each.number
            for each in look.seen
            if look.begun_ns >= facts.redacted.get(each.number, NEVER).done + BOUND_NS
        ]

    return _each_look(InboxRule.HIDDEN, facts, shown)


def _expired(facts: InboxHistoryIndex) -> _Found:
    """Check the list only. The rule for counts compares the counts with the list."""

    def shown(look: InboxRead) -> list[int]:
        return [
            each.number for each in look.seen if look.begun_ns >= facts.expires_ns(each.number) + BOUND_NS
        ]

    return _each_look(InboxRule.EXPIRED, facts, shown)


def _ramps(facts: InboxHistoryIndex) -> _Found:
    ramps = [number for number, send in facts.sends.items() if send.ramp]
    shown_ns = _first_shown(facts, frozenset(ramps))

    def missing(look: InboxRead) -> list[int]:
        seen = {each.number for each in look.seen}
        return [
            number
            for number in ramps
            if number not in seen
            and not _may_be_gone(facts, number, look)
            and (_had(shown_ns, number, look) or _is_all_out(facts, number, look))
        ]

    return _each_look(InboxRule.RAMPS, facts, missing)


def _first_shown(facts: InboxHistoryIndex, ramps: frozenset[int]) -> dict[tuple[str, int], int]:
    """Return the time at which each user was first shown each broadcast with a rollout."""
    found: dict[tuple[str, int], int] = {}
    for look in facts.reads:
        for each in look.seen:
            if each.number in ramps:
                found.setdefault((look.user, each.number), look.ended_ns)
    return found


def _had(shown_ns: dict[tuple[str, int], int], number: int, look: InboxRead) -> bool:
    return shown_ns.get((look.user, number), inf) + BOUND_NS <= look.begun_ns


def _is_all_out(facts: InboxHistoryIndex, number: int, look: InboxRead) -> bool:
    """Return whether the last step of a rollout must have reached the user.

    This is known only for steps to all users: only the server knows the members of a smaller share.
    """
    is_for_him = facts.sends[number].ramp[-1] == EVERYBODY and look.user in facts.reach[number]
    return is_for_him and look.is_last and facts.span(number).done < inf


def _marks(facts: InboxHistoryIndex) -> _Found:
    held = _held(facts)

    def unread(look: InboxRead) -> list[int]:
        mine = held.get(look.user, {})
        return [
            each.number
            for each in look.seen
            if not each.is_read and mine.get(each.number, inf) <= look.begun_ns
        ]

    return _each_look(InboxRule.MARKS, facts, unread)


def _held(facts: InboxHistoryIndex) -> dict[str, dict[int, float]]:
    """Return for each user the time from which a notification is certainly read.

    Marking all covers the notifications that the user was shown before it.
    """
    found: dict[str, dict[int, float]] = {}
    for (user, number), span in facts.marks.items():
        found.setdefault(user, {})[number] = span.done
    for mark in facts.marks_of_all:
        mine, span = found.setdefault(mark.users[0], {}), facts.span(mark.number)
        shown = {
            each.number
            for look in facts.reads
            if look.user == mark.users[0] and look.ended_ns < span.begun and not look.is_rest
            for each in look.seen
        }
        for number in shown:
            mine[number] = min(span.done, mine.get(number, inf))
    return found


def _born_unread(facts: InboxHistoryIndex) -> _Found:
    marks_of_all: dict[str, list[InboxSpan]] = {}
    for mark in facts.marks_of_all:
        marks_of_all.setdefault(mark.users[0], []).append(facts.span(mark.number))

    def read(look: InboxRead) -> list[int]:
        return [
            each.number
            for each in look.seen
            if each.is_read
            and facts.marks.get((look.user, each.number), NEVER).begun > look.ended_ns
            and not any(
                span.begun <= look.ended_ns and _may_take(facts, each.number, span)
                for span in marks_of_all.get(look.user, ())
            )
        ]

    return _each_look(InboxRule.BORN_UNREAD, facts, read)


def _may_take(facts: InboxHistoryIndex, number: int, mark: InboxSpan) -> bool:
    """Return whether a mark of all covers it: it cannot cover a notification whose send started after the answer to the mark."""
    return number in facts.begun and facts.begun[number].at_ns < mark.done


def _counts(facts: InboxHistoryIndex) -> _Found:
    wrong = (
        f"{look.user} has {look.unread} unread in their counts and {listed} in their list"
        for look in facts.reads
        if look.is_last and look.unread != (listed := sum(not each.is_read for each in look.seen))
    )
    return InboxRule.COUNTS, wrong


def _forward(facts: InboxHistoryIndex) -> _Found:
    back = (
        f"{look.user} requested {look.at_least} and received {look.up_to}"
        for look in facts.reads
        if look.up_to < look.at_least
    )
    return InboxRule.FORWARD, back


def _told(facts: InboxHistoryIndex) -> _Found:
    times = Counter((each.user, each.connection, each.number) for each in facts.pushes)
    wrong = [
        f"{user} was notified of {number} {count} times"
        for (user, _, number), count in times.items()
        if count > 1
    ]
    wrong += [
        f"{each.user} was notified of {each.number}, which is not addressed to them"
        for each in facts.pushes
        if each.user not in facts.reach.get(each.number, ())
    ]
    return InboxRule.TOLD, wrong
