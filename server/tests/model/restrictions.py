"""Model mutes, bans and join rules: "Entries carry the rules" and "Bans refuse by a condition" of ADR 0034.

One chat. A member sends `m` with two tries at different processes; each is checked against any view that its process
may have, and its put is applied at once, late or never. Admins mute and unmute the member, ban and unban another user,
and close the chat. An admin adds this user, or they join by the link: both read the rows first and commit later.

Bounds: two tries, and each change once.

Abstracted: a freeze is a mute of all members, so it has the same rules. A mute that ends by the clock has no entry and
no promise (ADR 0034). Slow mode is a row in the transaction of the message, as in `gap_filling.py`.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from model.explore import Label
from model.promises import Promise

CREATED, MESSAGE, MUTE, UNMUTE, BAN, UNBAN, JOINED, CLOSED = "cmMUBNJX"
TRIES = 2
QUEUED, DONE = 0, -1
UNREPORTED, REFUSED, ACKED = range(3)


class Mutant(StrEnum):
    MUTE_IN_THE_ROW_ALONE = "a mute changes the row and is no entry"
    NO_SECOND_CHECK = "a put whose place was taken is repeated without another check"
    ENDS_FOR_EVERY_AFTER = "the end of a mute counts for every `after`"
    ADDS_WITHOUT_THE_BAN = "an addition is not conditional on the ban that was read"
    JOINS_WITHOUT_THE_RULE = "a join is not conditional on the rule and the link that were read"


class Entering(NamedTuple):
    """The addition or the join of the other user. `has_read`: the rows allowed it when they were read."""

    has_read: bool = False
    is_over: bool = False


class State(NamedTuple):
    """`tries`: the place of the put in flight, or `QUEUED`, or `DONE`. `muted_from`: a mute that is no entry."""

    log: str
    after: int = 0
    tries: tuple[int, ...] = ()
    reported: int = UNREPORTED
    entering: Entering = Entering()
    muted_from: int = 0


type Steps = Iterator[tuple[Label, State]]


def _holds(log: str, begins: str, ends: str) -> bool:
    """Return whether a mute or ban holds after these entries."""
    return log.rfind(begins) > log.rfind(ends)


class Restrictions:
    def __init__(self, mutant: Mutant | None = None) -> None:
        self.mutant = mutant

    def initial(self) -> Iterable[State]:
        return [State(CREATED)]

    def steps(self, state: State) -> Steps:
        yield from self._admins(state)
        yield from self._enters(state)
        if len(state.tries) < TRIES and state.reported == UNREPORTED:
            # `after` is the client's position at its first try.
            after = state.after or len(state.log)
            label: Label = ("try", len(state.tries) + 1, "with after", after)
            yield label, state._replace(after=after, tries=(*state.tries, QUEUED))
        for number, place in enumerate(state.tries):
            if place == QUEUED:
                yield from self._check(state, number)
            elif place != DONE:
                yield from self._put(state, number, place)

    def _admins(self, state: State) -> Steps:
        log = state.log
        is_hidden = self.mutant is Mutant.MUTE_IN_THE_ROW_ALONE
        if is_hidden and not state.muted_from:
            yield ("the member is muted, in the row alone",), state._replace(muted_from=len(log))
        for entry, needs, words in (
            (MUTE, CREATED, "the member is muted"),
            (UNMUTE, MUTE, "the member is unmuted"),
            (BAN, CREATED, "the other user is banned"),
            (UNBAN, BAN, "the ban is removed"),
            (CLOSED, CREATED, "the chat is closed"),
        ):
            if entry not in log and needs in log and not (entry == MUTE and is_hidden):
                yield (words,), state._replace(log=log + entry)

    def _enters(self, state: State) -> Steps:
        """Read the rows, then commit on condition that they are unchanged; otherwise read again."""
        if state.entering.is_over:
            return
        is_banned, is_closed = _holds(state.log, BAN, UNBAN), CLOSED in state.log
        if not state.entering.has_read:
            is_over = is_banned or is_closed
            entering = Entering(has_read=not is_over, is_over=is_over)
            yield ("the rows are read for the addition",), state._replace(entering=entering)
            return
        ignores_ban = self.mutant is Mutant.ADDS_WITHOUT_THE_BAN
        ignores_rule = self.mutant is Mutant.JOINS_WITHOUT_THE_RULE
        if (is_banned and not ignores_ban) or (is_closed and not ignores_rule):
            yield ("the condition of the addition fails",), state._replace(entering=Entering())
        else:
            joined = state._replace(log=state.log + JOINED, entering=Entering(is_over=True))
            yield ("the addition commits",), joined

    def _check(self, state: State, number: int) -> Steps:
        """Check a try at any head that the view of its process may have."""
        head = len(state.log)
        for n in range(state.after, head + 1):
            seen = state.log[:n]
            label: Label = ("at", n, "try", number + 1)
            if MESSAGE in seen:
                yield (*label, "is a repeat and is acked"), _answered(state, number, ACKED)
            elif not self._is_muted(seen, state.after):
                yield (*label, "is put at", n + 1), _with_try(state, number, n + 1)
            elif n == head:
                # A refusal is final, so it needs a view at the head.
                yield (*label, "is refused"), _answered(state, number, REFUSED)

    def _is_muted(self, seen: str, after: int) -> bool:
        ended_at = seen.rfind(UNMUTE) + 1
        counts_later = self.mutant is not Mutant.ENDS_FOR_EVERY_AFTER
        return _holds(seen, MUTE, UNMUTE) or (counts_later and ended_at > after)

    def _put(self, state: State, number: int, place: int) -> Steps:
        label: Label = ("the put of try", number + 1, "at", place)
        yield (*label, "is not applied"), _with_try(state, number, DONE)
        if place > len(state.log):
            applied = state._replace(log=state.log + MESSAGE)
            yield (*label, "is applied"), _answered(applied, number, ACKED)
            yield (*label, "is applied, and the answer lost"), _with_try(applied, number, DONE)
        elif state.log[place - 1] == MESSAGE:
            yield (*label, "finds m there"), _answered(state, number, ACKED)
        else:
            again = place + 1 if self.mutant is Mutant.NO_SECOND_CHECK else QUEUED
            yield (*label, "finds its place taken"), _with_try(state, number, again)

    def broken(self, state: State) -> str | None:
        sent, joined = state.log.find(MESSAGE), state.log.find(JOINED)
        if state.log.count(MESSAGE) > 1:
            return Promise.ONE_PER_KEY
        if sent >= 0 and (_holds(state.log[:sent], MUTE, UNMUTE) or 0 < state.muted_from <= sent):
            return Promise.SILENT
        if joined >= 0 and _holds(state.log[:joined], BAN, UNBAN):
            return Promise.OUT
        if joined >= 0 and CLOSED in state.log[:joined]:
            return Promise.CLOSED
        return Promise.FINAL if sent >= 0 and state.reported == REFUSED else None

    def broken_by_step(self, before: State, after: State) -> str | None:
        return None if after.log.startswith(before.log) else Promise.UNCHANGED

    def broken_at_end(self, state: State) -> str | None:
        return None if state.entering.is_over else Promise.ANSWERED

    def show(self, state: State) -> str:
        answer = ("none", "refused", "acked")[state.reported]
        return f"log {state.log} | m: {answer} | {state.entering}"


def _with_try(state: State, number: int, place: int) -> State:
    tries = (*state.tries[:number], place, *state.tries[number + 1 :])
    return state._replace(tries=tries)


def _answered(state: State, number: int, answer: int) -> State:
    """The client keeps the first answer. Tries that are still in flight continue."""
    return _with_try(state, number, DONE)._replace(reported=state.reported or answer)
