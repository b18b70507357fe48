"""What lies between a device's position and what was heard of, read from the log and sent, chat by chat.

Of a chat and connection one read at a time; what comes meanwhile is noted and covered by it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from tidings.gateway.counts import Counts
from tidings.gateway.crew import Crew
from tidings.gateway.entries import referred
from tidings.gateway.ports import Reading
from tidings.gateway.resume.plan import Ahead
from tidings.gateway.resume.sending import Range, Sending
from tidings.gateway.seat import UNKNOWN, Place, Seat
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId
from tidings.messages.history import Page

PAGE = 200
_NOT_HIS = frozenset({Code.CHAT_NOT_FOUND, Code.NOT_A_MEMBER})

type _Job = tuple[Seat, ChatId, Place]
"""With the place that it was found behind at: one that resumes before its turn comes has another, and needs no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeOptions:
    """`tail`: so much of a chat that nothing was known of."""

    at_once: int = 64
    tail: int = 20


@final
class Ranges:
    """`again`: told of a device for which a range could not be read, so that it resumes."""

    def __init__(
        self,
        history: Reading,
        sending: Sending,
        counts: Counts,
        options: RangeOptions,
        report: Callable[[str, BaseException], None],
    ) -> None:
        self._history = history
        self._sending = sending
        self._counts = counts
        self._options = options
        self._crew: Crew[_Job] = Crew(self._work, options.at_once, report)
        self.again: Callable[[Seat], None] = lambda _: None

    def __len__(self) -> int:
        return len(self._crew)

    def start(self, seat: Seat, chat: ChatId) -> None:
        """Of a live device; who resumes comes by it himself."""
        place = seat.places.get(chat)
        if seat.is_live and place is not None and not place.is_reading and place.is_behind:
            place.is_reading = True
            self._crew.add((seat, chat, place))

    async def catch_up(self, seat: Seat, chat: ChatId, place: Place) -> None:
        """Up to what was heard of, by what the user may see: his position jumps what he may not."""
        while place.is_behind and not seat.is_gone and seat.places.get(chat) is place:
            page = await self._page(seat, chat, place)
            if page is None or page.up_to <= place.position:
                place.ahead = 0
                return
            if place.position == UNKNOWN:
                place.position = page.after
            await self._send(seat, chat, place, page)

    async def sure(self, seat: Seat, place: Place, ahead: Ahead) -> None:
        """What the plan knows to be the user's: no one is asked whether he may see it."""
        key, (after, up_to) = seat.chat(ahead.chat), ahead.reads
        if ahead.front:
            shown = await self._history.show(key, ahead.front)
            await self._sending.range(seat, ahead.chat, place, Range(ahead.after, after, shown, {}))
        while place.position < up_to and not seat.is_gone and seat.places.get(ahead.chat) is place:
            self._counts.ranges += 1
            page = await self._history.within(key, max(after, place.position), up_to, PAGE)
            if not page.entries:
                return  # The row is ahead of its log, as after a restore: this is where the log ends.
            await self._send(seat, ahead.chat, place, page)
        if ahead.back:
            shown = await self._history.show(key, ahead.back)
            await self._sending.range(seat, ahead.chat, place, Range(up_to, ahead.up_to, shown, {}))

    async def settled(self, within_s: float) -> None:
        await self._crew.settled(within_s)

    async def _work(self, job: _Job) -> None:
        seat, chat, place = job
        seat.pace = None
        try:
            await self.catch_up(seat, chat, place)
        except Exception as error:
            self.again(seat)
            if not isinstance(error, TidingsError):
                raise
        finally:
            place.is_reading = False

    async def _page(self, seat: Seat, chat: ChatId, place: Place) -> Page | None:
        self._counts.ranges += 1
        try:
            if place.position == UNKNOWN:
                return await self._history.before(seat.chat(chat), seat.user, None, self._options.tail)
            return await self._history.after(seat.chat(chat), seat.user, place.position, PAGE)
        except TidingsError as error:
            if error.code not in _NOT_HIS:
                raise
            return None

    async def _send(self, seat: Seat, chat: ChatId, place: Place, page: Page) -> None:
        """Changed messages that come along are as they are now already."""
        there = {shown.entry.sequence for shown in page.entries}
        missing = referred(shown.entry for shown in page.entries) - there
        changed = await self._history.now(seat.chat(chat), missing, seat.user)
        found = Range(page.after, page.up_to, page.entries[::-1], changed)
        await self._sending.range(seat, chat, place, found)
