"""The step "append" of the flow "send": every chat that is written through this process has a lane here.

Lanes that have been idle longest are forgotten; a cold one costs two reads.
"""

from collections import OrderedDict

from tidings.kernel.ids import ChatKey
from tidings.messages.lane import Lane, World
from tidings.messages.model import Appended, Begun, Beside, BesideAt, Draft, Entry, Proposal
from tidings.messages.ports import COMMITTED, Occupied
from tidings.messages.rules import place

LANES_KEPT = 50_000


class Appends[S]:
    def __init__(self, world: World[S], lanes_kept: int = LANES_KEPT) -> None:
        self._world = world
        self._lanes: OrderedDict[ChatKey, Lane[S]] = OrderedDict()
        self._lanes_kept = lanes_kept

    async def append(
        self, chat: ChatKey, proposal: Proposal[S], beside_at: BesideAt | None = None
    ) -> Appended:
        """Answers once the entry is committed, with the first answer if it was before; raises if it may not be."""
        return await self._lane(chat).append(proposal, beside_at)

    async def begin(self, chat: ChatKey, draft: Draft, beside: Beside) -> Begun:
        """The first entry of a log, with the rows of the chat. One that was begun already says by what."""
        world = self._world
        entry = place(draft, 1, 0, now_ms=world.clock.now_ms(), content=None, epoch=world.epoch())
        outcome = await world.log.append(chat, [entry], beside)
        if outcome == COMMITTED:
            self._lane(chat).begin(entry)
            if world.told is not None:
                world.told(chat, [entry])
            return Begun(entry, is_new=True)
        first = outcome.entry if isinstance(outcome, Occupied) else None
        return Begun(first, is_new=False)

    def observe(self, chat: ChatKey, entry: Entry) -> None:
        """Events and pushes that pass through this process keep views warm. They may come late, twice or not."""
        lane = self._lanes.get(chat)
        if lane is not None:
            lane.observe(entry)

    def _lane(self, chat: ChatKey) -> Lane[S]:
        lane = self._lanes.get(chat)
        if lane is None:
            lane = self._lanes[chat] = Lane(chat, self._world)
            self._forget_idle()
        else:
            self._lanes.move_to_end(chat)
        return lane

    def _forget_idle(self) -> None:
        """A busy lane is never forgotten: a second one of the same chat would append beside it."""
        if len(self._lanes) <= self._lanes_kept:
            return
        for chat, lane in self._lanes.items():
            if not lane.is_busy:
                del self._lanes[chat]
                return
