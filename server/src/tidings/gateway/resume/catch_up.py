"""What a resume costs its user: the pages that it reads count against the user's rate limit."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import batched
from typing import Final, NamedTuple, final

from tidings.bus.ports import BusPublisher
from tidings.connections.model import ConnectionRegistry
from tidings.delivery.model import ChatListItem, ChatRow
from tidings.gateway.ack_buffer import AckBuffer, OrdinalCache
from tidings.gateway.connected_device import UNKNOWN, ChatPosition, ConnectedDevice
from tidings.gateway.fanout.large_chats import LargeChatChannels
from tidings.gateway.frames import chat_row_frame, entry_frame, referenced_messages
from tidings.gateway.ports import ChatListing, DeviceChatRows, DeviceQueueReader, HistoryReading
from tidings.gateway.resume.plan import MissedEntries, TailLimits, chat_head
from tidings.gateway.slow_consumer import SlowConsumerGuard
from tidings.gateway.stats import GatewayStats
from tidings.kernel.concurrency import WorkQueue
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.fair_shares import release_slot
from tidings.kernel.ids import ChatId, UserId
from tidings.messages.history import HistorySlice, VisibleEntry
from tidings_wire.codec import encode_push
from tidings_wire.frames.history import ChatRows, Entries, Entry

FREE_PAGES: Final = 8
"""Pages that the request itself pays for. Most reconnects read fewer, and ask no limiter."""
_MAX_CHARGE: Final = 8
"""Tokens taken in one step; far fewer than a bucket holds, so that a large resume does not wait for a full one."""

type OnCharge = Callable[[int], Awaitable[int | None]]
"""Take so many tokens. None: taken; else none were, and there may be some after so many milliseconds."""


@final
class PageCharger:
    """Of one resume. A resume that is too large for the limit is slowed down, not refused.

    A page costs what a request for a page of history costs. Nothing is charged without `charge`: what the gateway
    does on its own account is not the user's work.
    """

    def __init__(self, charge: OnCharge | None) -> None:
        self._charge = charge
        self._free = FREE_PAGES

    async def before(self, some: Sequence[MissedEntries]) -> None:
        """Charge for these ranges, and wait as long as the limit refuses, without holding a slot meanwhile."""
        if self._charge is None:
            return
        pages = sum(-(-(ahead.up_to - ahead.after) // PAGE) for ahead in some)
        free = min(self._free, pages)
        self._free -= free
        pages -= free
        while pages > 0:
            tokens = min(pages, _MAX_CHARGE)
            wait_ms = await self._charge(tokens)
            if wait_ms is None:
                pages -= tokens
            else:
                async with release_slot():
                    await asyncio.sleep(wait_ms / 1_000)


FRAME_BYTES = 48 * 1024
"""Well below what may wait for a device, so that one frame never makes it a slow one."""
ENTRY_BYTES = 256
"""What is around a content, roughly."""
ROWS_IN_A_FRAME = 100
WAITING_BYTES = 64 * 1024
"""While more than this waits for a device, nothing more is read for it."""


class EntryRange(NamedTuple):
    """Complete for the user in `(after, up_to]`, oldest first. `changed`: messages that are not in it, as they are now."""

    after: int
    up_to: int
    shown: Sequence[VisibleEntry]
    changed: Mapping[int, VisibleEntry]


@final
class RangeSender:
    def __init__(self, ordinals: OrdinalCache) -> None:
        self._ordinals = ordinals

    async def range(
        self, device: ConnectedDevice, chat: ChatId, position: ChatPosition, found: EntryRange
    ) -> None:
        """Ends early when the device is gone, or when its place is another one by now."""
        for after, up_to, some in split_range(found):
            await self._has_room(device)
            if device.is_gone or device.positions.get(chat) is not position:
                return
            entries = tuple(_visible_to(device.user, some, found.changed))
            frame = encode_push(Entries(chat=chat, after=after, up_to=up_to, entries=entries))
            device.connected.push(frame)
            position.position = max(position.position, up_to)
            self._ordinals.note(device.chat(chat), [shown.entry for shown in some[-1:]])
            for shown in some:
                device.moved(chat, shown.entry)

    async def rows(self, device: ConnectedDevice, listed: Sequence[ChatListItem]) -> None:
        for some in batched(listed, ROWS_IN_A_FRAME):
            await self._has_room(device)
            device.connected.push(encode_push(ChatRows(rows=tuple(map(chat_row_frame, some)))))

    async def _has_room(self, device: ConnectedDevice) -> None:
        """Wait until the device has taken most of what it was sent; nobody else waits for it meanwhile."""
        if device.socket.buffered_bytes > WAITING_BYTES and not device.is_gone:
            async with release_slot():
                device.slow_consumer_guard = device.slow_consumer_guard or SlowConsumerGuard()
                await device.slow_consumer_guard.wait(device, WAITING_BYTES)


def split_range(found: EntryRange) -> Iterator[tuple[int, int, list[VisibleEntry]]]:
    """Frames of a bearable size that follow each other without a hole."""
    after, size, some = found.after, 0, list[VisibleEntry]()
    for shown in found.shown:
        weight = ENTRY_BYTES + _content_bytes(shown)
        if some and size + weight > FRAME_BYTES:
            yield after, some[-1].entry.sequence, some
            after, size, some = some[-1].entry.sequence, 0, []
        some.append(shown)
        size += weight
    if after < found.up_to:
        yield after, found.up_to, some


def _content_bytes(shown: VisibleEntry) -> int:
    entry = shown.entry
    return len(entry.content) if entry.content else len(shown.content.text) if shown.content else 0


def _visible_to(
    user: UserId, some: Iterable[VisibleEntry], changed: Mapping[int, VisibleEntry]
) -> Iterator[Entry]:
    for each in some:
        yield entry_frame(each, user, changed.get(each.entry.refers_to or 0))


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
        device, chat, place = job
        device.slow_consumer_guard = None
        try:
            await self.catch_up(device, chat, place)
        except Exception as error:
            self.on_gap(device)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeOptions:
    """`at_once`: resumes that devices asked for and that read at the same time, of which a tenant has at most
    `tenant_share`. `per_user`: resumes of one user that run at the same time. `max_concurrent_resumes`: resumes of connected
    devices that may have missed something.

    `within_s`: after this time a device that is not live is closed. `tries`: attempts for a device that may have
    missed something; then it is closed, and reconnects.
    """

    at_once: int = 64
    tenant_share: float = 0.8
    per_user: int = 2
    max_concurrent_resumes: int = 16
    within_s: float = 30.0
    tries: int = 6
    max_queued: int = 1_000
    tails: TailLimits = field(default_factory=TailLimits)


class ResumeDeps(NamedTuple):
    """The collaborators of `ResumeService`."""

    routes: ConnectionRegistry
    bus: BusPublisher
    large_chats: LargeChatChannels
    rows: DeviceChatRows
    queue: DeviceQueueReader
    listing: ChatListing
    history: HistoryReading
    ranges: CatchUp
    sending: RangeSender
    acks: AckBuffer

    def ack_positions(
        self, device: ConnectedDevice, positions: Mapping[ChatId, int], rows: Sequence[ChatRow]
    ) -> None:
        """A position is an ack. Only one that is news to the row is written, and never one above its head."""
        drained = device.drained or {}
        for row in rows:
            at = positions.get(row.chat, 0)
            if row.chat in drained:
                self.acks.done_with(device, row.chat, at)
            had = row.delivered.sequence if row.delivered else 0
            if had < at <= chat_head(row):
                self.acks.position(device, row, at)
