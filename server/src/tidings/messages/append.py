"""The step "append" of the flow "send": every chat that is written through this process has a lane here.

Lanes are bounded by number and by what they hold together. The longest idle are forgotten; a cold one costs two reads.
"""

from collections import OrderedDict

from tidings.kernel.ids import ChatKey
from tidings.messages.lane import Lane, World
from tidings.messages.model import Appended, Begun, Beside, BesideAt, Draft, Entry, Proposal
from tidings.messages.past import PastKeys
from tidings.messages.ports import COMMITTED, Occupied
from tidings.messages.rules import place

LANES_KEPT = 50_000
WEIGHT_KEPT = 400_000
"""Keys and standings of all lanes together, some 300 bytes each."""


class Appends[S]:
    def __init__(self, world: World[S], lanes_kept: int = LANES_KEPT, weight_kept: int = WEIGHT_KEPT) -> None:
        self._world = world
        self._past = PastKeys(world.log, world.clock)
        self.weight = 0
        self._weight_kept = weight_kept
        self._lanes: OrderedDict[ChatKey, Lane[S]] = OrderedDict()
        self._lanes_kept = lanes_kept

    async def append(
        self, chat: ChatKey, proposal: Proposal[S], beside_at: BesideAt | None = None
    ) -> Appended:
        """Answers once the entry is committed, with the first answer if it was before; raises if it may not be."""
        lane = self._lane(chat)
        try:
            return await lane.append(proposal, beside_at)
        finally:
            self._weigh(lane)
            self._past.forget_old()

    async def begin(self, chat: ChatKey, draft: Draft, beside: Beside) -> Begun:
        """The first entry of a log, with the rows of the chat. One that was begun already says by what."""
        world = self._world
        entry = place(draft, 1, 0, now_ms=world.clock.now_ms(), content=None, epoch=world.epoch())
        outcome = await world.log.append(chat, [entry], beside)
        if outcome == COMMITTED:
            lane = self._lane(chat)
            lane.begin(entry)
            self._weigh(lane)
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
            self._weigh(lane)

    def _lane(self, chat: ChatKey) -> Lane[S]:
        lane = self._lanes.get(chat)
        if lane is None:
            # before the new lane is there: idle until its caller uses it, it would be forgotten first
            self._forget_idle()
            lane = self._lanes[chat] = Lane(chat, self._world, self._past)
        else:
            self._lanes.move_to_end(chat)
        return lane

    def _weigh(self, lane: Lane[S]) -> None:
        """Count what the lane holds now. One that was forgotten meanwhile does not count any more."""
        if self._lanes.get(lane.chat) is lane:
            self.weight += lane.weight - lane.counted
            lane.counted = lane.weight
            self._forget_idle()

    def _forget_idle(self) -> None:
        """Never forget a lane in use: a second one of the same chat would append beside it."""
        while len(self._lanes) > self._lanes_kept or self.weight > self._weight_kept:
            idle = next((lane for lane in self._lanes.values() if lane.is_idle), None)
            if idle is None:
                return
            self.weight -= idle.counted
            del self._lanes[idle.chat]
