"""Inboxes that devices here look at: who is told of which, and what they are told. Read anew for each word, so that an
old word tells nothing wrong; one inbox at a time, so that what is told of it comes in order.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, final

from msgspec import Struct

from tidings.gateway.broadcasts.desk import BroadcastDesk
from tidings.gateway.crew import Crew
from tidings.gateway.inbox_frames import counts_of, notice_of
from tidings.gateway.ports import InboxCases
from tidings.gateway.seat import Seat
from tidings.kernel.errors import Code, TidingsError
from tidings.notices.model import InboxId, NoticeId, Owner
from tidings.routing.model import Noticed
from tidings.wire.codec import encode_push
from tidings.wire.frames.notices import InboxCounts, InboxNews, Notice, NoticePage, Notices

MOST: Final = 20
"""Inboxes of one connection."""
_READ_AT_ONCE: Final = 16
_TRIES: Final = 5
_AGAIN_S: Final = 0.5


@dataclass(slots=True)
class _News:
    """What was heard of one inbox and is yet to be told."""

    added: dict[NoticeId, None] = field(default_factory=dict)
    amended: dict[NoticeId, None] = field(default_factory=dict)
    gone: dict[NoticeId, None] = field(default_factory=dict)
    has_more: bool = False

    def hear(self, word: Noticed) -> None:
        for ids, into in ((word.added, self.added), (word.amended, self.amended), (word.gone, self.gone)):
            into.update(dict.fromkeys(map(NoticeId, ids)))
        self.has_more = self.has_more or word.has_more

    @property
    def wanted(self) -> list[NoticeId]:
        return [notice for notice in {**self.added, **self.amended} if notice not in self.gone]


@final
class InboxDesk:
    """`broadcasts` tells of what is not one user's."""

    def __init__(
        self,
        cases: InboxCases | None,
        broadcasts: BroadcastDesk,
        report: Callable[[str, BaseException], None],
    ) -> None:
        self._cases = cases
        self.broadcasts = broadcasts
        self._watchers: dict[Owner, dict[Seat, None]] = {}
        self._inboxes: dict[Seat, dict[Owner, None]] = {}
        self._news: dict[Owner, _News] = {}
        self._busy: set[Owner] = set()
        self._crew: Crew[Owner] = Crew(self._tell, _READ_AT_ONCE, report)

    def watch(self, seat: Seat, inbox: str) -> None:
        """Before the inbox is read for the answer: what changes after the read is heard."""
        if seat.is_gone:
            return
        owner = Owner(seat.key.tenant, seat.user, InboxId(inbox))
        mine = self._inboxes.setdefault(seat, {})
        if owner not in mine and len(mine) >= MOST:
            raise TidingsError(Code.REQUEST_INVALID, f"A connection looks at {MOST} inboxes at most.")
        mine[owner] = None
        self._watchers.setdefault(owner, {})[seat] = None
        self.broadcasts.enter(seat, inbox)

    def answered(self, seat: Seat, asked: Struct, answer: InboxCounts | NoticePage) -> None:
        """What a device was given is not told to it again. A list counts if it is the newest, of everything."""
        counts = answer if isinstance(answer, InboxCounts) else answer.counts
        has_list = isinstance(asked, Notices) and asked.below is None and not asked.is_filtered
        self.broadcasts.answered(seat, counts.inbox, counts.broadcasts_up_to, has_list=has_list)

    def left(self, seat: Seat) -> None:
        for owner in self._inboxes.pop(seat, ()):
            seats = self._watchers.get(owner, {})
            seats.pop(seat, None)
            if not seats:
                self._watchers.pop(owner, None)
            self.broadcasts.leave(seat, owner.inbox)

    def live(self, seat: Seat) -> None:
        """It resumed: what changed before its route stood nobody has said."""
        for owner in self._inboxes.get(seat, ()):
            self._news.setdefault(owner, _News()).has_more = True
            self._crew.add(owner)

    def noticed(self, word: Noticed) -> None:
        owner = Owner(word.tenant, word.user, InboxId(word.inbox))
        if owner in self._watchers:
            self._news.setdefault(owner, _News()).hear(word)
            self._crew.add(owner)

    async def settled(self, within_s: float) -> None:
        await self.broadcasts.settled(within_s)
        await self._crew.settled(within_s)

    async def _tell(self, owner: Owner) -> None:
        """Whoever finds it busy leaves it to the one who is: he looks again when he is through."""
        if owner in self._busy or self._cases is None:
            return
        self._busy.add(owner)
        try:
            while (news := self._news.pop(owner, None)) is not None and owner in self._watchers:
                if (frame := await self._frame(self._cases, owner, news)) is not None:
                    for seat in list(self._watchers.get(owner, ())):
                        seat.connected.push(frame)
        finally:
            self._busy.discard(owner)

    async def _frame(self, cases: InboxCases, owner: Owner, news: _News) -> bytes | None:
        for tried in range(_TRIES):
            try:
                return encode_push(await _told(cases, owner, news))
            except TidingsError as error:
                if not error.retryable:
                    return None
                await asyncio.sleep(_AGAIN_S * 2**tried)
        return None


async def _told(cases: InboxCases, owner: Owner, news: _News) -> InboxNews:
    """What is gone by now, or archived, is told of by no words; its id was told by whoever took it."""
    known = await cases.known.of(owner.tenant, owner.inbox)
    page = await cases.read.some(owner, news.wanted)
    shown = {each.row.id: notice_of(each, known) for each in page.notices}
    return InboxNews(
        counts=counts_of(page.sheet, known),
        added=_in_order(news.added, shown),
        amended=_in_order([each for each in news.amended if each not in news.added], shown),
        gone=tuple(news.gone),
        has_more=news.has_more,
    )


def _in_order(
    ids: Sequence[NoticeId] | Mapping[NoticeId, None], shown: Mapping[NoticeId, Notice]
) -> tuple[Notice, ...]:
    return tuple(shown[each] for each in ids if each in shown)
