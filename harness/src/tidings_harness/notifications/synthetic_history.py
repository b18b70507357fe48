"""Generate a history of inboxes that a correct installation would leave. Mutants change it."""

from math import inf
from typing import Final

from msgspec.structs import replace

from tidings_harness.notifications.history import (
    Action,
    ActionEnded,
    ActionOutcome,
    ActionStarted,
    Event,
    InboxRead,
    PushReceived,
    SeenNotification,
)

USERS: Final = tuple(f"user-{number}" for number in range(6))
PROS: Final = USERS[:3]
_S: Final = 1_000_000_000
_SENDS: Final = 24


def synthesize_inboxes() -> list[Event]:
    """Generate actions one and a half seconds apart, so that all users see each action before the next one.

    Number 5 has an unknown outcome and was sent, 9 was rejected, 12 was redacted, and 13 expires. Number 10 is a rollout
    to all users, 17 one to half of them. The first user reads one notification; the second marks all before the last
    sends.
    """
    events: list[Event] = []
    for number in range(1, _SENDS + 1):
        events += _sent(number)
        if number == 12:  # noqa: PLR2004 - see above
            events += _action_events(101, Action.REDACT, (), at(number) + _S // 3, of=(12,))
        if number == 14:  # noqa: PLR2004 - see above
            events += _action_events(102, Action.READ, USERS[:1], at(number) + _S // 3, of=(3,))
        if number == 20:  # noqa: PLR2004 - see above
            events += _action_events(103, Action.READ_ALL, USERS[1:2], at(number) + _S // 3)
        events += [synthetic_read(user, number) for user in USERS]
    return [*events, *(synthetic_read(user, _SENDS + 2, is_last=True) for user in USERS)]


def at(number: int) -> int:
    return number * 3 * _S // 2


def reach(number: int) -> tuple[str, ...]:
    if number % 3 == 0:
        return PROS
    return (USERS[number % 6],) if number % 4 == 0 else USERS


def synthetic_action(number: int) -> Action:
    return Action.DIRECT if number % 3 and number % 4 == 0 else Action.BROADCAST


def _sent(number: int) -> list[Event]:
    if number == 5:  # noqa: PLR2004 - see above
        return _action_events(number, synthetic_action(number), reach(number), at(number))[:1]
    outcome = ActionOutcome.FAILED if number == 9 else ActionOutcome.OK  # noqa: PLR2004 - see above
    events: list[Event] = []
    if synthetic_action(number) is Action.BROADCAST and outcome is ActionOutcome.OK:
        events = [
            PushReceived(user=user, connection=1, number=number)
            for user in reach(number)
            if is_shown(user, number, _SENDS)
        ]
    begun, ended = _action_events(
        number, synthetic_action(number), reach(number), at(number), outcome=outcome
    )
    more = {"expires_ns": at(_ENDS[number]) if number in _ENDS else 0, "ramp": _RAMPS.get(number, ())}
    return [replace(begun, **more), ended, *events]


_ENDS: Final = {13: 16}
_RAMPS: Final = {10: (20, 100), 17: (20, 50)}
_LAST_STEP: Final = 12


def is_shown(user: str, number: int, after: int) -> bool:
    """Return whether a notification to the user is visible after `after` sends."""
    at_once = USERS.index(user) < len(PROS)
    if number in _RAMPS and not at_once:
        return _RAMPS[number][-1] == 100 and after >= _LAST_STEP  # noqa: PLR2004 - percent
    is_redacted = number == 12 and after > 12  # noqa: PLR2004 - see above
    return number != 9 and not is_redacted and after < _ENDS.get(number, inf)  # noqa: PLR2004 - see above


def _action_events(
    number: int,
    action: Action,
    users: tuple[str, ...],
    at_ns: int,
    *,
    outcome: ActionOutcome = ActionOutcome.OK,
    of: tuple[int, ...] = (),
) -> list[Event]:
    begun = ActionStarted(number=number, action=action, at_ns=at_ns, users=users, of=of)
    return [begun, ActionEnded(number=number, outcome=outcome, at_ns=at_ns + _S // 10)]


def synthetic_read(user: str, after: int, *, is_last: bool = False) -> InboxRead:
    """Return the read of a user after `after` sends, when the bound of the last one has passed."""
    begun = at(after) + _S + _S // 5
    visible = [
        number
        for number in range(1, min(after, _SENDS) + 1)
        if user in reach(number) and is_shown(user, number, after)
    ]
    seen = tuple(SeenNotification(number, _is_read(user, number, after)) for number in reversed(visible))
    unread = sum(not each.is_read for each in seen)
    return InboxRead(
        user=user,
        begun_ns=begun,
        ended_ns=begun + _S // 20,
        seen=seen,
        unread=unread,
        up_to=after,
        is_last=is_last,
    )


def _is_read(user: str, number: int, after: int) -> bool:
    if user == USERS[0]:
        return number == 3 and after >= 14  # noqa: PLR2004 - as above
    return user == USERS[1] and number <= 20 <= after  # noqa: PLR2004 - as above
