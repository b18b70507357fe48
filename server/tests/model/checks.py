"""The checks before a put, as a writer makes them against its view. Pure, with one mutant for each rule.

They correspond to `messages.rules`: `verdict` is the result of a send against a view. `fits` and `compare`
decide about the entry that a writer finds at its sequence.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import NamedTuple

from model.log import CONFLICT, HOLE, NOTHING, PUT, REFUSED, WRONGLY_REFUSED, Cast, Entry, Kind, Log


class Mutant(StrEnum):
    NO_CONDITION = "a put without the condition"
    VIEW_JUMPS = "a log view jumps to a pushed entry"
    NOT_AN_ENTRY = "a removal changes its row and appends no entry"
    NO_RECHECK = "a writer that lost a race puts at the next sequence without checking again"
    AFTER_MOVES = "a retry carries the client's current position"
    NO_DUPLICATE_CHECK = "no duplicate check"
    RECENT_KEYS_ONLY = "the duplicate check covers recent keys only, not all of (after, n]"
    MEMBERSHIP_FIRST = "the membership check comes before the duplicate check"
    BELOW_AFTER = "a view below `after` refuses"
    BROKEN_MEMBERSHIP = "a membership that began after `after` authorizes"
    CONTENT_IGNORED = "the key alone decides; the content is not compared"
    EDITED_CONTENT = "a repeat is compared with the current content"
    KEY_WITHOUT_SENDER = "another sender's entry with the same key is taken for the writer's own"
    OWN_FOR_ANOTHERS = "the writer's own entry at the sequence is taken for another's"
    ELSEWHERE = "an unanswered put is followed by a put at another sequence"
    THROTTLE_SETTLES = "a throttled request settles the unanswered put before it"
    ACK_FIRST = "the ack is sent before the commit"


@dataclass(frozen=True)
class Scenario:
    """Which entries are tried and how often. A client acts once the entry that it `waits_for` is in the log."""

    cast: Cast
    tries: tuple[int, ...]
    waits_for: tuple[int, ...]


class View(NamedTuple):
    """A writer's log view. It has all entries up to `head` except `missed`, which only a mutant sets."""

    head: int
    missed: tuple[int, ...] = ()


class Checks:
    def __init__(self, cast: Cast, mutant: Mutant | None) -> None:
        self.cast = cast
        self.mutant = mutant
        self.verdict = cache(self._verdict)

    def _verdict(self, log: Log, view: View, number: int, after: int) -> int:
        """Return PUT, or the answer that this view gives."""
        refusal = self._refusal(log, view, number, after)
        if self.mutant is Mutant.MEMBERSHIP_FIRST and refusal:
            return refusal
        return self._repeat(log, view, number, after) or refusal or PUT

    def _repeat(self, log: Log, view: View, number: int, after: int) -> int:
        """Return the answer to a send whose key is in (after, n]."""
        if self.mutant is Mutant.NO_DUPLICATE_CHECK:
            return NOTHING
        if self.mutant is Mutant.RECENT_KEYS_ONLY:
            after = max(after, view.head - 1)
        for n, entry in self._seen(log, view):
            if n > after and entry.identity == self.cast.entries[number].identity:
                return self.compare(log, number, log[n - 1]) or n
        return NOTHING

    def _refusal(self, log: Log, view: View, number: int, after: int) -> int:
        entry = self.cast.entries[number]
        if not entry.needs_a_member or self._is_member(self._seen(log, view), entry.user, after):
            return NOTHING
        truth = self.cast.member_since(entry.user, self.cast.numbered(log))
        return WRONGLY_REFUSED if 0 < truth <= after else REFUSED

    def _is_member(self, seen: list[tuple[int, Entry]], user: str, after: int) -> bool:
        """Return whether the user is a member in the view, without interruption since `after`."""
        since = self.cast.member_since(user, seen)
        return since > 0 if self.mutant is Mutant.BROKEN_MEMBERSHIP else 0 < since <= after

    def _seen(self, log: Log, view: View) -> list[tuple[int, Entry]]:
        return [(n, entry) for n, entry in self.cast.numbered(log[: view.head]) if n not in view.missed]

    def is_own(self, number: int, stored: int) -> bool:
        """Return whether the entry that a failed put returned is a try of the same message."""
        own, other = self.cast.entries[number], self.cast.entries[stored]
        if self.mutant is Mutant.KEY_WITHOUT_SENDER:
            return own.key == other.key
        return own.identity == other.identity

    def compare(self, log: Log, number: int, stored: int) -> int:
        """Return CONFLICT if the existing entry has other content, by its fingerprint."""
        own, other = self.cast.entries[number].content, self.cast.entries[stored].content
        if self.mutant is Mutant.CONTENT_IGNORED:
            return NOTHING
        if self.mutant is Mutant.EDITED_CONTENT:
            other = self._edited(log, other)
        return NOTHING if own == other else CONFLICT

    def _edited(self, log: Log, content: str) -> str:
        edits = (self.cast.entries[stored] for stored in log if stored != HOLE)
        return next((entry.content for entry in edits if entry.kind is Kind.EDIT), content)
