"""The step "append" of the flow "send": every chat that is written through this process has a lane here.

Lanes are bounded by number and by what they hold together. The longest idle are forgotten; a cold one costs two reads.
"""

from collections import OrderedDict

from tidings.kernel.ids import ChatKey
from tidings.messages.lane import AppendDeps, AppendQueue
from tidings.messages.model import Appended, Draft, Entry, LogCreated, Proposal, SideWrites, SideWritesFactory
from tidings.messages.past import PastKeys
from tidings.messages.ports import COMMITTED, PositionTaken
from tidings.messages.rules import make_entry

MAX_IDLE_QUEUES = 50_000
MAX_CACHED_WEIGHT = 400_000
"""Keys and standings of all lanes together, some 300 bytes each."""


class Appender[S]:
    def __init__(
        self, deps: AppendDeps[S], lanes_kept: int = MAX_IDLE_QUEUES, weight_kept: int = MAX_CACHED_WEIGHT
    ) -> None:
        self._deps = deps
        self._past = PastKeys(deps.log, deps.clock)
        self.weight = 0
        self._max_cached_weight = weight_kept
        self._queues: OrderedDict[ChatKey, AppendQueue[S]] = OrderedDict()
        self._max_idle_queues = lanes_kept

    async def append(
        self, chat: ChatKey, proposal: Proposal[S], beside_at: SideWritesFactory | None = None
    ) -> Appended:
        """Answers once the entry is committed, with the first answer if it was before; raises if it may not be."""
        lane = self._queue(chat)
        try:
            return await lane.append(proposal, beside_at)
        finally:
            self._weigh(lane)
            self._past.evict_old()

    async def begin(self, chat: ChatKey, draft: Draft, side_writes: SideWrites) -> LogCreated:
        """The first entry of a log, with the rows of the chat. One that was begun already says by what."""
        world = self._deps
        entry = make_entry(draft, 1, 0, now_ms=world.clock.now_ms(), content=None, epoch=world.epoch())
        outcome = await world.log.append(chat, [entry], side_writes)
        if outcome == COMMITTED:
            lane = self._queue(chat)
            lane.begin(entry)
            self._weigh(lane)
            if world.on_commit is not None:
                world.on_commit(chat, [entry])
            return LogCreated(entry, is_new=True)
        first = outcome.entry if isinstance(outcome, PositionTaken) else None
        return LogCreated(first, is_new=False)

    def observe(self, chat: ChatKey, entry: Entry) -> None:
        """Events and pushes that pass through this process keep views warm. They may come late, twice or not."""
        lane = self._queues.get(chat)
        if lane is not None:
            lane.observe(entry)
            self._weigh(lane)

    def _queue(self, chat: ChatKey) -> AppendQueue[S]:
        lane = self._queues.get(chat)
        if lane is None:
            # before the new lane is there: idle until its caller uses it, it would be forgotten first
            self._evict_idle()
            lane = self._queues[chat] = AppendQueue(chat, self._deps, self._past)
        else:
            self._queues.move_to_end(chat)
        return lane

    def _weigh(self, queue: AppendQueue[S]) -> None:
        """Count what the lane holds now. One that was forgotten meanwhile does not count any more."""
        if self._queues.get(queue.chat) is queue:
            self.weight += queue.weight - queue.counted
            queue.counted = queue.weight
            self._evict_idle()

    def _evict_idle(self) -> None:
        """Never forget a lane in use: a second one of the same chat would append beside it."""
        while len(self._queues) > self._max_idle_queues or self.weight > self._max_cached_weight:
            idle = next((lane for lane in self._queues.values() if lane.is_idle), None)
            if idle is None:
                return
            self.weight -= idle.counted
            del self._queues[idle.chat]
