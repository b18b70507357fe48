"""The delivery worker: what is done with committed entries, step by step, in the order that the promises hang on.

1. What lies before an entry and was not handled is read from the log and handled first. 2. The truth: rows, heads,
queues. 3. Look up routes, push. 4. Keep messages for who has no route, look up again, ring. 5. Mark as handled.
Whoever calls commits his offset after that. Everything may be repeated at any time; nothing is left out.

When Redis does not answer, the truth is written all the same and nothing else is done: chat lists go on, and a
partition does not stand still for what is only an accelerator. The marks stay behind then. So the entries come again:
with the chat's next entry, or by the relay; and gateways whose subscription was lost have their devices resume.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import NamedTuple

from tidings.delivery import plan, rules
from tidings.delivery.audience import KeptAudience
from tidings.delivery.counts import Counts
from tidings.delivery.memory import Memory
from tidings.delivery.plan import Plan
from tidings.delivery.ports import Log, Marks
from tidings.delivery.reaching import Reaching
from tidings.delivery.rows import Rows
from tidings.delivery.rules import Run
from tidings.delivery.side_by_side import few_at_once, settled
from tidings.delivery.withdrawing import Withdrawing
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey
from tidings.kernel.pauses import Pauses
from tidings.messages.model import Entry
from tidings.routing.model import RoutesAwayError

_log = logging.getLogger(__name__)

CHATS_AT_ONCE = 32
_TRIES_TO_MARK = 5
_LEFT_ENTRIES = 20
_LEFT_MS = 120_000
"""Longer than it takes until another worker has a dead one's partitions, or the relay has looked."""

type News = tuple[ChatKey, Sequence[Entry]]
"""Committed entries of one chat, as an event brings them."""


class _Written(NamedTuple):
    """The truth of a run is written. From `first` on everything below it is handled, but not marked."""

    plans: tuple[Plan, ...]
    first: int
    last: int

    @property
    def chat(self) -> ChatKey:
        return self.plans[0].chat


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    rows: Rows
    audience: KeptAudience
    log: Log
    withdrawing: Withdrawing
    marks: Marks


class Worker:
    """Of each chat one at a time: who calls sees to it, because a chat's events stand in one partition."""

    def __init__(
        self,
        stores: Stores,
        reaching: Reaching,
        *,
        counts: Counts,
        pauses: Pauses,
        memory: Memory | None = None,
    ) -> None:
        self._stores = stores
        self._reaching = reaching
        self._counts = counts
        self._pauses = pauses
        self._memory = memory or Memory()
        self._is_away = False

    async def handle(self, news: Iterable[News]) -> None:
        """Chats side by side. Those that got through stay so when another did not; then the first error is raised."""
        chats = grouped(news)
        marks = await self._marks_of(chats)
        begun = await settled(
            (self._begin(chat, entries, marks) for chat, entries in chats.items()), CHATS_AT_ONCE
        )
        await self._finish([each for each in begun if isinstance(each, _Written)])
        for each in begun:
            if isinstance(each, BaseException):
                raise each

    async def _marks_of(self, chats: Mapping[ChatKey, Run]) -> Mapping[ChatKey, int] | None:
        """Of chats that others may have brought further than this worker knows. None: Redis does not answer."""
        asked = [chat for chat, run in chats.items() if not self._memory.of(chat).reaches(run[0].sequence)]
        try:
            return await self._stores.marks.of(asked) if asked else {}
        except RoutesAwayError:
            # then rows tell what they have missed
            return None

    async def _begin(
        self, chat: ChatKey, entries: Run, marks: Mapping[ChatKey, int] | None
    ) -> _Written | None:
        """Steps 1 and 2. None: there is nothing left to do, or it has to wait for Redis."""
        brought = self._memory.of(chat)
        brought.finished((marks or {}).get(chat, 0))
        fresh = [entry for entry in entries if entry.sequence > brought.handled]
        if not fresh:
            self._counts.repeated += len(entries)
            await self._mark_again(chat, entries[0].sequence, brought.handled)
            return None
        if brought.is_blank and marks is not None:
            fresh = [*await self._left_by_others(chat, fresh[0]), *fresh]
        *before, run = rules.runs(fresh)
        # who does not know what is late before it can't push it: that would come after it
        is_known = marks is not None or brought.reaches(fresh[0].sequence)
        at = brought.begins(fresh[0].sequence, is_known=is_known)
        is_reached = await self._fill(chat, at, [*before, run])
        await self._pauses.at("worker.gap_filled")
        first = await self._write(chat, run)
        brought.wrote(run[-1].sequence)
        await self._pauses.at("worker.rows_written")
        if first is None or not is_reached or not is_known:
            self._late(chat, run)
            return None
        return _Written(await self._plans(chat, run), min(first, at + 1), run[-1].sequence)

    async def _left_by_others(self, chat: ChatKey, first: Entry) -> list[Entry]:
        """Of a chat without a mark: what came shortly before, and may have been left late by a worker that has died.

        Marking what follows would mark it too. What is older was handled, or the relay has begun a mark below it.
        """
        before = max(0, first.sequence - 1 - _LEFT_ENTRIES)
        found = await self._stores.log.between(chat, before, first.sequence - 1) if first.sequence > 1 else ()
        return list(dropwhile(lambda each: each.created_at_ms < first.created_at_ms - _LEFT_MS, found))

    async def _fill(self, chat: ChatKey, at: int, runs: Sequence[Run]) -> bool:
        """Step 1: everything up to the last of the runs. False: Redis went away, so only the truth was written."""
        is_reached = True
        for run in runs:
            if at + 1 < run[0].sequence:
                is_reached &= await self._from_log(chat, at, run[0].sequence - 1)
            if run is not runs[-1]:
                is_reached &= await self._through(chat, run)
            at = run[-1].sequence
        return is_reached

    async def _from_log(self, chat: ChatKey, after: int, up_to: int) -> bool:
        is_reached = True
        while after < up_to and (entries := await self._stores.log.between(chat, after, up_to)):
            self._counts.filled += len(entries)
            is_reached &= await self._through(chat, entries)
            after = entries[-1].sequence
        return is_reached

    async def _through(self, chat: ChatKey, run: Run) -> bool:
        """Steps 2 to 4 for what comes before. It is marked together with what comes after it."""
        is_written = await self._write(chat, run) is not None
        is_reached = is_written and await self._reach(await self._plans(chat, run))
        if not is_reached:
            self._late(chat, run)
        return is_reached

    async def _write(self, chat: ChatKey, run: Run) -> int | None:
        """Step 2. From where on all is handled that lies before the run; None if Redis went away over that."""
        self._stores.audience.follow(chat, run)
        missed = await self._stores.rows.handle(chat, run)
        await self._stores.withdrawing(chat, run)
        if missed is None:
            return run[0].sequence
        return missed.after + 1 if await self._from_log(chat, *missed) else None

    async def _plans(self, chat: ChatKey, run: Run) -> tuple[Plan, ...]:
        """A run in which the chat became large has two: up to that entry it goes to everybody by his routes."""
        crowd = await self._stores.audience.of(chat, run[-1].sequence)
        since = crowd.large_since
        if since is None:
            return (plan.plan_small(chat, run, crowd.members),)
        small = [entry for entry in run if entry.sequence <= since]
        large = run[len(small) :]
        plans = (plan.plan_large(chat, large),) if large else ()
        if not small:
            return plans
        members = await self._stores.audience.everyone(chat)
        becomes_large = small[-1].sequence == since
        return plan.plan_small(chat, small, members, becomes_large=becomes_large), *plans

    async def _reach(self, plans: Sequence[Plan]) -> bool:
        """Steps 3 and 4. False: Redis did not answer."""
        try:
            await self._reaching.reach(plans)
        except RoutesAwayError as error:
            self._tell_away(str(error))
            return False
        self._tell_away("")
        return True

    async def _finish(self, written: Sequence[_Written]) -> None:
        if not written:
            return
        if not await self._reach([plan for each in written for plan in each.plans]):
            for each in written:
                self._memory.of(each.chat).left_late(each.first)
            self._counts.late += sum(each.last - each.first + 1 for each in written)
            return
        await few_at_once(map(self._mark, written), CHATS_AT_ONCE)
        await self._pauses.at("worker.marked")

    async def _mark(self, done: _Written) -> None:
        """Step 5. A mark that stays behind says that something before was not handled: that is done, then marked.

        With what was reached already behind it: who came in between and left the chat long ago begins with what is
        pushed late, and is to get his leave too.
        """
        brought, (first, last) = self._memory.of(done.chat), (done.first, done.last)
        behind = brought.before(first)
        for _ in range(_TRIES_TO_MARK):
            if behind < first - 1 and not await self._from_log(done.chat, behind, last):
                return
            first = behind + 1
            try:
                behind = await self._stores.marks.mark(done.chat, first, last)
            except RoutesAwayError as error:
                self._tell_away(str(error))
                return
            if behind >= last:
                brought.finished(behind)
                self._counts.handled += last - first + 1
                return
        raise TidingsError(Code.OVERLOADED, "A chat's mark goes back again and again.")

    async def _mark_again(self, chat: ChatKey, first: int, handled: int) -> None:
        """What was handled has come again: perhaps because its mark was lost."""
        try:
            mark = await self._stores.marks.mark(chat, first, handled)
            if mark < handled:
                await self._stores.marks.mark(chat, mark + 1, handled)
        except RoutesAwayError as error:
            self._tell_away(str(error))

    def _late(self, chat: ChatKey, run: Run) -> None:
        self._memory.of(chat).left_late(run[0].sequence)
        self._counts.late += len(run)

    def _tell_away(self, why: str) -> None:
        """Once for each outage, not for each batch."""
        if bool(why) == self._is_away:
            return
        self._is_away = bool(why)
        if why:
            _log.warning("routes can't be asked: rows are written, pushes come later: %s", why)
        else:
            _log.info("routes can be asked again")


def grouped(news: Iterable[News]) -> dict[ChatKey, Run]:
    """By chat, in order, none twice."""
    chats: dict[ChatKey, dict[int, Entry]] = {}
    for chat, entries in news:
        chats.setdefault(chat, {}).update((entry.sequence, entry) for entry in entries)
    return {chat: [those[n] for n in sorted(those)] for chat, those in chats.items()}
