"""What lies between a device's position and what was heard of, read from the log and sent, chat by chat.

Of a chat and connection one read at a time; what comes meanwhile is noted and covered by it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from tidings.gateway.counts import GatewayStats
from tidings.gateway.crew import WorkQueue
from tidings.gateway.entries import referenced_messages
from tidings.gateway.ports import HistoryReading
from tidings.gateway.resume.plan import MissedEntries
from tidings.gateway.resume.sending import EntryRange, RangeSender
from tidings.gateway.seat import UNKNOWN, ChatPosition, ConnectedDevice
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId
from tidings.messages.history import HistorySlice

PAGE = 200
_NOT_HIS = frozenset({Code.CHAT_NOT_FOUND, Code.NOT_A_MEMBER})

type _Job = tuple[ConnectedDevice, ChatId, ChatPosition]
"""With the place that it was found behind at: one that resumes before its turn comes has another, and needs no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchUpOptions:
    """`tail`: so much of a chat that nothing was known of."""

    at_once: int = 64
    tail: int = 20


@final
class CatchUp:
    """`on_gap`: told of a device for which a range could not be read, so that it resumes."""

    def __init__(
        self,
        history: HistoryReading,
        sending: RangeSender,
        counts: GatewayStats,
        options: CatchUpOptions,
        report: Callable[[str, BaseException], None],
    ) -> None:
        self._history = history
        self._sending = sending
        self._counts = counts
        self._options = options
        self._crew: WorkQueue[_Job] = WorkQueue(self._work, options.at_once, report)
        self.on_gap: Callable[[ConnectedDevice], None] = lambda _: None

    def __len__(self) -> int:
        return len(self._crew)

    def schedule(self, device: ConnectedDevice, chat: ChatId) -> None:
        """Of a live device; who resumes comes by it himself."""
        place = device.positions.get(chat)
        if device.is_live and place is not None and not place.is_reading and place.is_behind:
            place.is_reading = True
            self._crew.add((device, chat, place))

    async def catch_up(self, device: ConnectedDevice, chat: ChatId, position: ChatPosition) -> None:
        """Up to what was heard of, by what the user may see: his position jumps what he may not."""
        while position.is_behind and not device.is_gone and device.positions.get(chat) is position:
            page = await self._page(device, chat, position)
            if page is None or page.up_to <= position.position:
                position.ahead = 0
                return
            if position.position == UNKNOWN:
                position.position = page.after
            await self._send(device, chat, position, page)

    async def send_known_range(
        self, device: ConnectedDevice, position: ChatPosition, ahead: MissedEntries
    ) -> None:
        """What the plan knows to be the user's: no one is asked whether he may see it."""
        key, (after, up_to) = device.chat(ahead.chat), ahead.reads
        if ahead.front:
            shown = await self._history.show(key, ahead.front)
            await self._sending.range(device, ahead.chat, position, EntryRange(ahead.after, after, shown, {}))
        while (
            position.position < up_to and not device.is_gone and device.positions.get(ahead.chat) is position
        ):
            self._counts.ranges += 1
            page = await self._history.within(key, max(after, position.position), up_to, PAGE)
            if not page.entries:
                return  # The row is ahead of its log, as after a restore: this is where the log ends.
            await self._send(device, ahead.chat, position, page)
        if ahead.back:
            shown = await self._history.show(key, ahead.back)
            await self._sending.range(device, ahead.chat, position, EntryRange(up_to, ahead.up_to, shown, {}))

    async def wait_idle(self, within_s: float) -> None:
        await self._crew.wait_idle(within_s)

    async def _work(self, job: _Job) -> None:
        seat, chat, place = job
        seat.slow_consumer_guard = None
        try:
            await self.catch_up(seat, chat, place)
        except Exception as error:
            self.on_gap(seat)
            if not isinstance(error, TidingsError):
                raise
        finally:
            place.is_reading = False

    async def _page(
        self, device: ConnectedDevice, chat: ChatId, position: ChatPosition
    ) -> HistorySlice | None:
        self._counts.ranges += 1
        try:
            if position.position == UNKNOWN:
                return await self._history.before(device.chat(chat), device.user, None, self._options.tail)
            return await self._history.after(device.chat(chat), device.user, position.position, PAGE)
        except TidingsError as error:
            if error.code not in _NOT_HIS:
                raise
            return None

    async def _send(
        self, device: ConnectedDevice, chat: ChatId, position: ChatPosition, page: HistorySlice
    ) -> None:
        """Changed messages that come along are as they are now already."""
        there = {shown.entry.sequence for shown in page.entries}
        missing = referenced_messages(shown.entry for shown in page.entries) - there
        changed = await self._history.now(device.chat(chat), missing, device.user)
        found = EntryRange(page.after, page.up_to, page.entries[::-1], changed)
        await self._sending.range(device, chat, position, found)
