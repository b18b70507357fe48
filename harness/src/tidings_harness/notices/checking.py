"""Holds what users saw of their inboxes against what was done. Each look by itself: what must be in it, what must not,
what must be read.

A broadcast has a second (`BOUND_NS`) from its answer until everybody has it, and so has a redaction; a look counts from
when it was begun, so that no machine is too slow for the rules. A direct notice is to be there when all is quiet.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import islice
from math import inf
from typing import Final, NamedTuple, final

from tidings_harness.checking.verdict import Breach
from tidings_harness.notices.history import Begun, Deed, Ended, Event, Look, Outcome, Told

BOUND_NS: Final = 1_000_000_000
_EXAMPLES: Final = 10


class Rule(StrEnum):
    THERE = "an accepted notice is there for everybody it reaches"
    ONCE = "a notice is in a list once"
    NOTHING_ELSE = "a list has nothing that was not sent to its user"
    HIDDEN = "what was redacted is not shown after the bound"
    MARKS = "what was marked read is read"
    BORN_UNREAD = "nothing is read that nobody marked"
    COUNTS = "counts are what the list says"
    FORWARD = "what was asked for at least is there"
    TOLD = "a device is told once, of what is its user's"


class Verdict(NamedTuple):
    sends: int
    acked: int
    unsettled: int
    redactions: int
    marks: int
    looks: int
    told: int
    breaches: tuple[Breach[Rule], ...]

    @property
    def is_good(self) -> bool:
        return not self.breaches

    @property
    def broken(self) -> set[Rule]:
        return {breach.rule for breach in self.breaches}


class _Span(NamedTuple):
    """When something was begun, and when it was surely done; inf: perhaps never."""

    begun: float
    done: float


_NEVER: Final = _Span(inf, inf)


@final
class Facts:
    def __init__(self, events: Sequence[Event]) -> None:
        self.ends = {each.number: each for each in events if isinstance(each, Ended)}
        self.begun = {each.number: each for each in events if isinstance(each, Begun)}
        self.looks = sorted((each for each in events if isinstance(each, Look)), key=lambda e: e.ended_ns)
        self.told = [each for each in events if isinstance(each, Told)]
        self.sends = {
            number: each
            for number, each in self.begun.items()
            if each.deed in {Deed.DIRECT, Deed.BROADCAST} and not self.is_refused(number)
        }
        self.reach = {number: frozenset(each.users) for number, each in self.sends.items()}
        self.redacted = self._redactions()
        self.marks = self._marks()
        self.marks_of_all = self._of(Deed.READ_ALL)

    def is_refused(self, number: int) -> bool:
        end = self.ends.get(number)
        return end is not None and end.outcome is Outcome.FAILED

    def span(self, number: int) -> _Span:
        end = self.ends.get(number)
        is_done = end is not None and end.outcome is Outcome.OK
        return _Span(self.begun[number].at_ns, end.at_ns if end and is_done else inf)

    def _of(self, deed: Deed) -> list[Begun]:
        return [
            each for each in self.begun.values() if each.deed is deed and not self.is_refused(each.number)
        ]

    def _redactions(self) -> dict[int, _Span]:
        """By notice; the earliest of each, if there were several."""
        found: dict[int, _Span] = {}
        for each in self._of(Deed.REDACT):
            for notice in each.of:
                before, span = found.get(notice, _NEVER), self.span(each.number)
                found[notice] = _Span(min(before.begun, span.begun), min(before.done, span.done))
        return found

    def _marks(self) -> dict[tuple[str, int], _Span]:
        """By user and notice."""
        found: dict[tuple[str, int], _Span] = {}
        for each in self._of(Deed.READ):
            for notice in each.of:
                key = (each.users[0], notice)
                before, span = found.get(key, _NEVER), self.span(each.number)
                found[key] = _Span(min(before.begun, span.begun), min(before.done, span.done))
        return found


def check(events: Sequence[Event]) -> Verdict:
    facts = Facts(events)
    rules = (_there, _once, _nothing_else, _hidden, _marks, _born_unread, _counts, _forward, _told)
    return Verdict(
        sends=sum(each.deed in {Deed.DIRECT, Deed.BROADCAST} for each in facts.begun.values()),
        acked=sum(facts.span(number).done < inf for number in facts.sends),
        unsettled=sum(facts.span(number).done == inf for number in facts.sends),
        redactions=len(facts.redacted),
        marks=len(facts.marks) + len(facts.marks_of_all),
        looks=len(facts.looks),
        told=len(facts.told),
        breaches=tuple(breach for rule in rules for breach in _counted(*rule(facts))),
    )


def _counted(rule: Rule, found: Iterable[str]) -> Iterator[Breach[Rule]]:
    if told := list(found):
        yield Breach(rule, len(told), tuple(islice(told, _EXAMPLES)))


type _Found = tuple[Rule, Iterable[str]]


def _each_look(rule: Rule, facts: Facts, find: Callable[[Look], Iterable[int]]) -> _Found:
    said = (
        f"{look.user}, look at {look.begun_ns / 1e9:.3f}: {facts.begun[number].deed if number in facts.begun else 'notice'} {number}"
        for look in facts.looks
        for number in find(look)
    )
    return rule, said


def _there(facts: Facts) -> _Found:
    def missing(look: Look) -> list[int]:
        seen = {each.number for each in look.seen}
        return [number for number in facts.sends if number not in seen and _must_show(facts, number, look)]

    return _each_look(Rule.THERE, facts, missing)


def _must_show(facts: Facts, number: int, look: Look) -> bool:
    if look.user not in facts.reach[number] or facts.redacted.get(number, _NEVER).begun <= look.ended_ns:
        return False
    done = facts.span(number).done
    if facts.sends[number].deed is Deed.BROADCAST:
        return look.begun_ns >= done + BOUND_NS
    return look.is_last and done < inf


def _once(facts: Facts) -> _Found:
    def doubled(look: Look) -> list[int]:
        return [number for number, count in Counter(each.number for each in look.seen).items() if count > 1]

    return _each_look(Rule.ONCE, facts, doubled)


def _nothing_else(facts: Facts) -> _Found:
    def foreign(look: Look) -> list[int]:
        return [
            each.number
            for each in look.seen
            if look.user not in facts.reach.get(each.number, ())
            or facts.begun[each.number].at_ns > look.ended_ns
        ]

    return _each_look(Rule.NOTHING_ELSE, facts, foreign)


def _hidden(facts: Facts) -> _Found:
    def shown(look: Look) -> list[int]:
        return [
            each.number
            for each in look.seen
            if look.begun_ns >= facts.redacted.get(each.number, _NEVER).done + BOUND_NS
        ]

    return _each_look(Rule.HIDDEN, facts, shown)


def _marks(facts: Facts) -> _Found:
    held = _held(facts)

    def unread(look: Look) -> list[int]:
        mine = held.get(look.user, {})
        return [
            each.number
            for each in look.seen
            if not each.is_read and mine.get(each.number, inf) <= look.begun_ns
        ]

    return _each_look(Rule.MARKS, facts, unread)


def _held(facts: Facts) -> dict[str, dict[int, float]]:
    """By user: from when a notice is surely read. A mark of all takes what its user was shown before it."""
    found: dict[str, dict[int, float]] = {}
    for (user, number), span in facts.marks.items():
        found.setdefault(user, {})[number] = span.done
    for mark in facts.marks_of_all:
        mine, span = found.setdefault(mark.users[0], {}), facts.span(mark.number)
        shown = {
            each.number
            for look in facts.looks
            if look.user == mark.users[0] and look.ended_ns < span.begun and not look.is_rest
            for each in look.seen
        }
        for number in shown:
            mine[number] = min(span.done, mine.get(number, inf))
    return found


def _born_unread(facts: Facts) -> _Found:
    marks_of_all: dict[str, list[_Span]] = {}
    for mark in facts.marks_of_all:
        marks_of_all.setdefault(mark.users[0], []).append(facts.span(mark.number))

    def read(look: Look) -> list[int]:
        return [
            each.number
            for each in look.seen
            if each.is_read
            and facts.marks.get((look.user, each.number), _NEVER).begun > look.ended_ns
            and not any(
                span.begun <= look.ended_ns and _may_take(facts, each.number, span)
                for span in marks_of_all.get(look.user, ())
            )
        ]

    return _each_look(Rule.BORN_UNREAD, facts, read)


def _may_take(facts: Facts, number: int, mark: _Span) -> bool:
    """What was begun to be sent after a mark of all was answered it can't have taken."""
    return number in facts.begun and facts.begun[number].at_ns < mark.done


def _counts(facts: Facts) -> _Found:
    wrong = (
        f"{look.user} has {look.unread} unread in his counts and {listed} in his list"
        for look in facts.looks
        if look.is_last and look.unread != (listed := sum(not each.is_read for each in look.seen))
    )
    return Rule.COUNTS, wrong


def _forward(facts: Facts) -> _Found:
    back = (
        f"{look.user} asked for {look.at_least} and got {look.up_to}"
        for look in facts.looks
        if look.up_to < look.at_least
    )
    return Rule.FORWARD, back


def _told(facts: Facts) -> _Found:
    times = Counter((each.user, each.connection, each.number) for each in facts.told)
    wrong = [
        f"{user} was told of {number} {count} times"
        for (user, _, number), count in times.items()
        if count > 1
    ]
    wrong += [
        f"{each.user} was told of {each.number}, which is not his"
        for each in facts.told
        if each.user not in facts.reach.get(each.number, ())
    ]
    return Rule.TOLD, wrong
