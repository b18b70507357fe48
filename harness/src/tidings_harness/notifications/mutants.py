"""Mutate a correct history of inboxes so that it violates one rule. A checker that accepts a mutant proves nothing."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from tidings_harness.notifications.checker import InboxRule
from tidings_harness.notifications.history import Event, InboxRead, PushReceived, SeenNotification
from tidings_harness.notifications.synthetic_history import USERS


class InboxMutant(NamedTuple):
    rule: InboxRule
    of: Callable[[Sequence[Event]], list[Event]]


def _looks(
    change: Callable[[InboxRead], InboxRead], *, which: Callable[[InboxRead], bool]
) -> Callable[[Sequence[Event]], list[Event]]:
    """Replace one read: the last one that matches."""

    def mutate(events: Sequence[Event]) -> list[Event]:
        at = max(n for n, each in enumerate(events) if isinstance(each, InboxRead) and which(each))
        found = events[at]
        assert isinstance(found, InboxRead)  # noqa: S101 - as chosen above
        return [*events[:at], change(found), *events[at + 1 :]]

    return mutate


def _of(user: str, *, is_last: bool = False) -> Callable[[InboxRead], bool]:
    return lambda look: look.user == user and look.is_last == is_last


def _without(number: int) -> Callable[[InboxRead], InboxRead]:
    def change(look: InboxRead) -> InboxRead:
        seen = tuple(each for each in look.seen if each.number != number)
        return replace(look, seen=seen, unread=sum(not each.is_read for each in seen))

    return change


def _with(*more: SeenNotification) -> Callable[[InboxRead], InboxRead]:
    def change(look: InboxRead) -> InboxRead:
        seen = (*more, *look.seen)
        return replace(look, seen=seen, unread=sum(not each.is_read for each in seen))

    return change


def _never(user: str, number: int) -> Callable[[Sequence[Event]], list[Event]]:
    """Remove a notification from all reads of a user."""

    def mutate(events: Sequence[Event]) -> list[Event]:
        drop = _without(number)
        return [drop(each) if isinstance(each, InboxRead) and each.user == user else each for each in events]

    return mutate


def _marked(number: int, *, is_read: bool) -> Callable[[InboxRead], InboxRead]:
    def change(look: InboxRead) -> InboxRead:
        seen = tuple(
            SeenNotification(each.number, is_read if each.number == number else each.is_read)
            for each in look.seen
        )
        return replace(look, seen=seen, unread=sum(not each.is_read for each in seen))

    return change


def _told(user: str, number: int) -> Callable[[Sequence[Event]], list[Event]]:
    return lambda events: [*events, PushReceived(user=user, connection=1, number=number)]


MUTANTS: Final = {
    "a_broadcast_not_there": InboxMutant(InboxRule.THERE, _looks(_without(1), which=_of(USERS[4]))),
    "a_notification_lost": InboxMutant(
        InboxRule.THERE, _looks(_without(16), which=_of(USERS[4], is_last=True))
    ),
    "a_notification_twice": InboxMutant(
        InboxRule.ONCE, _looks(_with(SeenNotification(1, is_read=False)), which=_of(USERS[4]))
    ),
    "shown_outside_its_segment": InboxMutant(
        InboxRule.NOTHING_ELSE, _looks(_with(SeenNotification(3, is_read=False)), which=_of(USERS[4]))
    ),
    "refused_and_there": InboxMutant(
        InboxRule.NOTHING_ELSE, _looks(_with(SeenNotification(9, is_read=False)), which=_of(USERS[0]))
    ),
    "sent_by_nobody": InboxMutant(
        InboxRule.NOTHING_ELSE, _looks(_with(SeenNotification(999, is_read=False)), which=_of(USERS[0]))
    ),
    "shown_after_its_redaction": InboxMutant(
        InboxRule.HIDDEN, _looks(_with(SeenNotification(12, is_read=False)), which=_of(USERS[0]))
    ),
    "shown_after_it_expired": InboxMutant(
        InboxRule.EXPIRED, _looks(_with(SeenNotification(13, is_read=False)), which=_of(USERS[0]))
    ),
    "a_ramp_that_lost_somebody": InboxMutant(InboxRule.RAMPS, _looks(_without(17), which=_of(USERS[0]))),
    "a_ramp_that_stopped_early": InboxMutant(InboxRule.RAMPS, _never(USERS[4], 10)),
    "a_mark_not_kept": InboxMutant(InboxRule.MARKS, _looks(_marked(3, is_read=False), which=_of(USERS[0]))),
    "a_mark_of_all_missed_one": InboxMutant(
        InboxRule.MARKS, _looks(_marked(7, is_read=False), which=_of(USERS[1]))
    ),
    "born_read": InboxMutant(InboxRule.BORN_UNREAD, _looks(_marked(23, is_read=True), which=_of(USERS[1]))),
    "read_by_nobody": InboxMutant(
        InboxRule.BORN_UNREAD, _looks(_marked(1, is_read=True), which=_of(USERS[4]))
    ),
    "one_unread_too_many": InboxMutant(
        InboxRule.COUNTS,
        _looks(lambda look: replace(look, unread=look.unread + 1), which=_of(USERS[2], is_last=True)),
    ),
    "an_older_log_than_asked_for": InboxMutant(
        InboxRule.FORWARD, _looks(lambda look: replace(look, at_least=look.up_to + 1), which=_of(USERS[2]))
    ),
    "told_twice": InboxMutant(InboxRule.TOLD, _told(USERS[0], 1)),
    "told_of_what_is_not_his": InboxMutant(InboxRule.TOLD, _told(USERS[4], 3)),
}
