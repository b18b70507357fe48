"""A history of inboxes, by what the rules ask of it: who was sent what, until when, and what was done to it."""

from collections.abc import Sequence
from math import inf
from typing import Final, NamedTuple, final

from tidings_harness.notices.history import Begun, Deed, Ended, Event, Look, Outcome, Told


class Span(NamedTuple):
    """When something was begun, and when it was surely done; inf: perhaps never."""

    begun: float
    done: float


NEVER: Final = Span(inf, inf)


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

    def span(self, number: int) -> Span:
        end = self.ends.get(number)
        is_done = end is not None and end.outcome is Outcome.OK
        return Span(self.begun[number].at_ns, end.at_ns if end and is_done else inf)

    def expires_ns(self, number: int) -> float:
        return (number in self.sends and self.sends[number].expires_ns) or inf

    def _of(self, deed: Deed) -> list[Begun]:
        return [
            each for each in self.begun.values() if each.deed is deed and not self.is_refused(each.number)
        ]

    def _redactions(self) -> dict[int, Span]:
        """By notice; the earliest of each, if there were several."""
        found: dict[int, Span] = {}
        for each in self._of(Deed.REDACT):
            for notice in each.of:
                before, span = found.get(notice, NEVER), self.span(each.number)
                found[notice] = Span(min(before.begun, span.begun), min(before.done, span.done))
        return found

    def _marks(self) -> dict[tuple[str, int], Span]:
        """By user and notice."""
        found: dict[tuple[str, int], Span] = {}
        for each in self._of(Deed.READ):
            for notice in each.of:
                key = (each.users[0], notice)
                before, span = found.get(key, NEVER), self.span(each.number)
                found[key] = Span(min(before.begun, span.begun), min(before.done, span.done))
        return found
