"""What devices are told of a broadcast, and which of them: the ramp by hashes, a segment by one read for each user.

A frame is made once and is the same for all. It is made anew each second, from the log and the words as they are by then:
what was redacted meanwhile is told to nobody any more, whether or not a word of it came.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import batched
from typing import Final, NamedTuple, Protocol, final

from tidings.broadcasts.model import LogId, Showing, Span, View, part_of
from tidings.gateway.broadcasts.crowd import Crowd, Give
from tidings.gateway.inbox_frames import notice_of
from tidings.gateway.ports import InboxCases
from tidings.gateway.seat import Seat
from tidings.kernel.clock import Clock
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import UserId, hash_of
from tidings.wire.codec import encode_push
from tidings.wire.frames.notices import BroadcastNews, Notice

FRESH_S: Final = 1.0
_ASKED_AT_ONCE: Final = 16
_TRIES: Final = 5
_AGAIN_S: Final = 0.5

type Make = Callable[[], Awaitable[bytes | None]]
"""The frame as it is now; None: there is nothing more to tell."""


class Told(NamedTuple):
    """`notice` says who is told when."""

    notice: str
    give: Give


class Reach(NamedTuple):
    """`spans`: steps of its ramp, one of which is to have the user. `segment` None: his profile is not asked."""

    notice: str
    spans: Sequence[Span | None] = (None,)
    segment: str | None = None

    def has(self, user: UserId) -> bool:
        part = part_of(hash_of(user), hash_of(self.notice))
        return any(span is None or span.low <= part < span.high for span in self.spans)


class Gone(Protocol):
    """What is known to be redacted."""

    @property
    def gone(self) -> frozenset[str]: ...


@final
class Frame:
    def __init__(self, make: Make, clock: Clock) -> None:
        self._make = make
        self._clock = clock
        self._made: bytes | None = None
        self._made_at = float("-inf")

    async def now(self) -> bytes | None:
        now = self._clock.monotonic()
        if now >= self._made_at + FRESH_S:
            self._made, self._made_at = await self._make(), now
        return self._made


@final
class Telling:
    """Of one inbox. `gave` is told how many devices got a frame."""

    def __init__(
        self,
        cases: InboxCases,
        log: LogId,
        crowd: Crowd,
        *,
        state: Gone,
        clock: Clock,
        gave: Callable[[int], None],
    ) -> None:
        self._cases = cases
        self._log = log
        self._crowd = crowd
        self._state = state
        self._clock = clock
        self._gave = gave

    def added(self, showing: Showing) -> Told:
        """To those who were not given it in a list."""

        def is_new(seat: Seat) -> bool:
            told = self._crowd.told.get(seat)
            return told is not None and told < showing.sequence and showing.notice not in self._state.gone

        def news(notice: Notice) -> BroadcastNews:
            return BroadcastNews(inbox=self._log.inbox, up_to=showing.sequence, added=(notice,))

        reach = Reach(showing.notice, [showing.span], showing.segment)
        return self._told(reach, self._living(showing, news), is_new)

    def amended(self, showings: Sequence[Showing], up_to: int) -> Told:
        def news(notice: Notice) -> BroadcastNews:
            return BroadcastNews(inbox=self._log.inbox, up_to=up_to, amended=(notice,))

        first = showings[0]
        reach = Reach(first.notice, [each.span for each in showings], first.segment)
        return self._told(reach, self._living(first, news), lambda _: first.notice not in self._state.gone)

    def gone(self, notice: str, view: View) -> Told:
        """To all who may have it: nobody's profile is asked for an id that says nothing."""
        news = BroadcastNews(inbox=self._log.inbox, up_to=view.head, gone=(notice,))
        return self._told(Reach(notice, [each.span for each in view.of(notice)]), _always(news))

    def more(self, up_to: int) -> Told:
        news = BroadcastNews(inbox=self._log.inbox, up_to=up_to, has_more=True)
        return self._told(Reach(""), _always(news))

    def _living(self, showing: Showing, news: Callable[[Notice], BroadcastNews]) -> Make:
        """As long as it can be seen in the log, which is a second old at most."""

        async def make() -> bytes | None:
            board = await self._cases.logs.board(self._log)
            live = board.live(self._clock.now_ms())
            if not live & board.bits.get(showing.sequence, 0):
                return None
            found = await self._cases.read.shown(self._log.tenant, showing)
            if found is None:
                return None
            known = await self._cases.known.of(self._log.tenant, self._log.inbox)
            return encode_push(news(notice_of(found, known)))

        return make

    def _told(self, reach: Reach, make: Make, is_wanted: Callable[[Seat], bool] = lambda _: True) -> Told:
        frame = Frame(make, self._clock)

        async def give(seats: list[Seat]) -> bool:
            ready = await frame.now()
            if ready is None:
                return False
            reached = await self._reached(reach, [each for each in seats if reach.has(each.user)])
            for seat in (mine := [each for each in reached if is_wanted(each)]):
                seat.connected.push(ready)
            self._gave(len(mine))
            return True

        return Told(reach.notice, lambda seats: _patiently(give, seats))

    async def _reached(self, reach: Reach, seats: list[Seat]) -> list[Seat]:
        if reach.segment is None:
            return seats
        segment, holds = reach.segment, set[UserId]()

        async def ask(user: UserId) -> None:
            if await self._cases.audience.is_in(self._log.tenant, segment, user):
                holds.add(user)

        for some in batched({seat.user: None for seat in seats}, _ASKED_AT_ONCE):
            await asyncio.gather(*map(ask, some))
        return [seat for seat in seats if seat.user in holds]


def _always(news: BroadcastNews) -> Make:
    frame = encode_push(news)

    async def make() -> bytes:
        return frame

    return make


async def _patiently(give: Give, seats: list[Seat]) -> bool:
    """An engine that is away is waited for. Who is not told in the end finds it when he asks."""
    for tried in range(_TRIES):
        try:
            return await give(seats)
        except TidingsError as error:
            if not error.retryable:
                return False
            await asyncio.sleep(_AGAIN_S * 2**tried)
    return True
