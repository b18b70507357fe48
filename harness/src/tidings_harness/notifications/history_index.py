"""Index a history of inboxes for the rules: recipients, expiry and marks of each notification."""

from collections.abc import Sequence
from math import inf
from typing import Final, NamedTuple, final

from tidings_harness.notifications.history import (
    Action,
    ActionEnded,
    ActionOutcome,
    ActionStarted,
    Event,
    InboxRead,
    PushReceived,
)


class InboxSpan(NamedTuple):
    """The start of an action and the time at which it was certainly done; inf if it may not have happened."""

    begun: float
    done: float


NEVER: Final = InboxSpan(inf, inf)


@final
class InboxHistoryIndex:
    def __init__(self, events: Sequence[Event]) -> None:
        self.ends = {each.number: each for each in events if isinstance(each, ActionEnded)}
        self.begun = {each.number: each for each in events if isinstance(each, ActionStarted)}
        self.reads = sorted(
            (each for each in events if isinstance(each, InboxRead)), key=lambda e: e.ended_ns
        )
        self.pushes = [each for each in events if isinstance(each, PushReceived)]
        self.sends = {
            number: each
            for number, each in self.begun.items()
            if each.action in {Action.DIRECT, Action.BROADCAST} and not self.is_refused(number)
        }
        self.reach = {number: frozenset(each.users) for number, each in self.sends.items()}
        self.redacted = self._redactions()
        self.marks = self._marks()
        self.marks_of_all = self._of(Action.READ_ALL)

    def is_refused(self, number: int) -> bool:
        end = self.ends.get(number)
        return end is not None and end.outcome is ActionOutcome.FAILED

    def span(self, number: int) -> InboxSpan:
        end = self.ends.get(number)
        is_done = end is not None and end.outcome is ActionOutcome.OK
        return InboxSpan(self.begun[number].at_ns, end.at_ns if end and is_done else inf)

    def expires_ns(self, number: int) -> float:
        return (number in self.sends and self.sends[number].expires_ns) or inf

    def _of(self, action: Action) -> list[ActionStarted]:
        return [
            each for each in self.begun.values() if each.action is action and not self.is_refused(each.number)
        ]

    def _redactions(self) -> dict[int, InboxSpan]:
        """Return the earliest redaction of each notification."""
        found: dict[int, InboxSpan] = {}
        for each in self._of(Action.REDACT):
            for notification in each.of:
                before, span = found.get(notification, NEVER), self.span(each.number)
                found[notification] = InboxSpan(min(before.begun, span.begun), min(before.done, span.done))
        return found

    def _marks(self) -> dict[tuple[str, int], InboxSpan]:
        """Return the earliest mark by user and notification."""
        found: dict[tuple[str, int], InboxSpan] = {}
        for each in self._of(Action.READ):
            for notification in each.of:
                key = (each.users[0], notification)
                before, span = found.get(key, NEVER), self.span(each.number)
                found[key] = InboxSpan(min(before.begun, span.begun), min(before.done, span.done))
        return found
