"""Read what a device missed, from the offline queue and the log, and send it at the device's pace."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import batched
from typing import Final, NamedTuple, final

from tidings.delivery.model import ChatListItem, ChatRow, OfflineQueueKey, OfflineQueueMessage
from tidings.delivery.ports import OfflineQueue
from tidings.gateway.ack_buffer import OrdinalCache
from tidings.gateway.connected_device import UNKNOWN, ChatPosition, ConnectedDevice
from tidings.gateway.fanout.memberships import MembershipEffects
from tidings.gateway.frames import chat_row_frame, entry_frame, referenced_messages
from tidings.gateway.resume.plan import MissedEntries, OfflineQueueEntries, has_missed_entries
from tidings.gateway.slow_consumer import SlowConsumerGuard
from tidings.gateway.stats import GatewayStats
from tidings.kernel.concurrency import WorkQueue
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.fair_shares import release_slot
from tidings.kernel.ids import ChatId, UserId
from tidings.messages.history import History, HistorySlice, VisibleEntry
from tidings.messages.model import Entry as LogEntry
from tidings_wire.close_codes import CloseCode
from tidings_wire.codec import encode_push
from tidings_wire.frames.history import ChatRows, Entries, Entry

FREE_PAGES: Final = 8
"""Pages that the resume request itself pays for. Most reconnects read fewer and ask no limiter."""
_MAX_CHARGE: Final = 8
"""Tokens taken in one step. Much less than a bucket holds, so that a large resume does not wait for a full bucket."""

type OnCharge = Callable[[int], Awaitable[int | None]]
"""Take this many tokens. None: taken. Otherwise none were taken; retry after the returned milliseconds."""


@final
class PageCharger:
    """Charge the pages that one resume reads to its user, at the price of a history request for each page.

    A resume that exceeds the limit is slowed down, not refused. Without `charge` nothing is charged: work that the
    gateway does on its own initiative is not the user's.
    """

    def __init__(self, charge: OnCharge | None) -> None:
        self._charge = charge
        self._free = FREE_PAGES

    async def before(self, ranges: Sequence[MissedEntries]) -> None:
        """Charge for these ranges. While the limit refuses, wait without holding a slot."""
        if self._charge is None:
            return
        pages = sum(-(-(missed.up_to - missed.after) // PAGE) for missed in ranges)
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
"""Much less than may be buffered for a device, so that one frame never makes it a slow consumer."""
ENTRY_BYTES = 256
"""Approximate size of an entry's frame without its content."""
ROWS_IN_A_FRAME = 100
MAX_BUFFERED_BYTES = 64 * 1024
"""While more than this is buffered for a device, the gateway reads nothing more for it."""


class EntryRange(NamedTuple):
    """All entries of `(after, up_to]` that the user may see, oldest first.

    changed: current state of messages outside the range that entries in the range changed.
    """

    after: int
    up_to: int
    shown: Sequence[VisibleEntry]
    changed: Mapping[int, VisibleEntry]


@final
class RangeSender:
    def __init__(self, ordinals: OrdinalCache, memberships: MembershipEffects) -> None:
        self._ordinals = ordinals
        self._memberships = memberships

    async def range(
        self, device: ConnectedDevice, chat: ChatId, position: ChatPosition, found: EntryRange
    ) -> None:
        """Send a range in frames of a moderate size, and advance the position with each frame."""
        for after, up_to, some in split_range(found):
            await self._wait_for_room(device)
            # Race: during the wait the device disconnects, or a resume replaces its positions and sends this range
            # itself. Stop in both cases.
            if device.is_gone or device.positions.get(chat) is not position:
                return
            entries = tuple(_visible_to(device.user, some, found.changed))
            frame = encode_push(Entries(chat=chat, after=after, up_to=up_to, entries=entries))
            device.connected.push(frame)
            position.position = max(position.position, up_to)
            self._ordinals.note(device.chat(chat), [shown.entry for shown in some[-1:]])
            for shown in some:
                self._memberships.entry_sent(device, chat, shown.entry)

    async def rows(self, device: ConnectedDevice, listed: Sequence[ChatListItem]) -> None:
        for some in batched(listed, ROWS_IN_A_FRAME):
            await self._wait_for_room(device)
            device.connected.push(encode_push(ChatRows(rows=tuple(map(chat_row_frame, some)))))

    async def _wait_for_room(self, device: ConnectedDevice) -> None:
        """Wait, without a slot, until the device has read most of its buffer. Close it if it is too slow."""
        if device.socket.buffered_bytes > MAX_BUFFERED_BYTES and not device.is_gone:
            async with release_slot():
                guard = device.slow_consumer_guard = device.slow_consumer_guard or SlowConsumerGuard()
                if not await guard.wait(device.socket, MAX_BUFFERED_BYTES, lambda: device.is_gone):
                    device.connected.close(CloseCode.SLOW_CONSUMER)


def split_range(found: EntryRange) -> Iterator[tuple[int, int, list[VisibleEntry]]]:
    """Split a range into consecutive parts of at most about `FRAME_BYTES`."""
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


async def read_queued(
    queue: OfflineQueue,
    device: ConnectedDevice,
    positions: Mapping[ChatId, int],
    rows: Sequence[ChatRow],
    limit: int,
) -> OfflineQueueEntries:
    """Read about `limit` messages of the offline queue, but only if the device missed something."""
    queued: dict[ChatId, dict[int, LogEntry]] = {}
    if has_missed_entries(positions, rows):
        # Race: the device acknowledges a message of the previous drain while the queue is read again. That ack finds no
        # key and deletes nothing; `AckBuffer.take_resumed` or the next ack of the chat deletes the item.
        device.drained = {}
        for each in await _drain(queue, device, limit):
            device.drained.setdefault(each.chat.chat, []).append((each.entry.sequence, each.key))
            queued.setdefault(each.chat.chat, {})[each.entry.sequence] = each.entry
    return queued


async def _drain(queue: OfflineQueue, device: ConnectedDevice, limit: int) -> list[OfflineQueueMessage]:
    found: list[OfflineQueueMessage] = []
    after: OfflineQueueKey | None = None
    while len(found) < limit:
        page = await queue.drain(device.key.tenant, device.user, after)
        found += page.waiting
        after = page.after
        if after is None:
            break
    return found


PAGE = 200
_NO_ACCESS = frozenset({Code.CHAT_NOT_FOUND, Code.NOT_A_MEMBER})


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchUpOptions:
    """Options of range reads.

    at_once: ranges of live devices that are read concurrently.
    tail: number of entries that are read of a chat in which the device's position is unknown.
    """

    at_once: int = 64
    tail: int = 20


@final
class CatchUp:
    """Read and send what a device misses in one chat. Raises what the reads raise; sent frames stay sent."""

    def __init__(self, history: History, sender: RangeSender, counts: GatewayStats, tail: int) -> None:
        self._history = history
        self._sender = sender
        self._counts = counts
        self._tail = tail

    async def catch_up(self, device: ConnectedDevice, chat: ChatId, position: ChatPosition) -> None:
        """Send what the user may see up to `position.ahead`. The position skips what they may not see."""
        # Race: a resume replaces the device's positions while a page is read here. It then sends this range itself.
        while position.is_behind and not device.is_gone and device.positions.get(chat) is position:
            ahead = position.ahead
            page = await self._page(device, chat, position)
            if page is None or page.up_to <= position.position:
                # Race: a push was recorded while the page was read, so the page may not contain it. Read again.
                if position.ahead != ahead:
                    continue
                # The user may no longer see the pushed entries, or a restore removed them from the log. Stop waiting.
                position.ahead = 0
                return
            if position.position == UNKNOWN:
                position.position = page.after
            await self._send(device, chat, position, page)

    async def send_known_range(
        self, device: ConnectedDevice, position: ChatPosition, missed: MissedEntries
    ) -> None:
        """Send a range that the plan knows to be visible to the user, without a membership check."""
        key, (after, up_to) = device.chat(missed.chat), missed.reads
        if missed.front:
            shown = await self._history.show(key, missed.front)
            await self._sender.range(
                device, missed.chat, position, EntryRange(missed.after, after, shown, {})
            )
        while (
            position.position < up_to and not device.is_gone and device.positions.get(missed.chat) is position
        ):
            self._counts.ranges += 1
            page = await self._history.within(key, max(after, position.position), up_to, PAGE)
            if not page.entries:
                return  # The row is ahead of its log, as after a restore. The log ends here.
            await self._send(device, missed.chat, position, page)
        if missed.back:
            shown = await self._history.show(key, missed.back)
            await self._sender.range(
                device, missed.chat, position, EntryRange(up_to, missed.up_to, shown, {})
            )

    async def _page(
        self, device: ConnectedDevice, chat: ChatId, position: ChatPosition
    ) -> HistorySlice | None:
        self._counts.ranges += 1
        try:
            if position.position == UNKNOWN:
                return await self._history.before(device.chat(chat), device.user, None, self._tail)
            # A head, a row or a push named the entry at `ahead`, so it is committed.
            return await self._history.after(
                device.chat(chat), device.user, position.position, PAGE, committed=position.ahead
            )
        except TidingsError as error:
            if error.code not in _NO_ACCESS:
                raise
            return None

    async def _send(
        self, device: ConnectedDevice, chat: ChatId, position: ChatPosition, page: HistorySlice
    ) -> None:
        # Messages of the page already show their current state. Only changed messages outside of it are read.
        in_page = {shown.entry.sequence for shown in page.entries}
        missing = referenced_messages(shown.entry for shown in page.entries) - in_page
        changed = await self._history.now(device.chat(chat), missing, device.user)
        found = EntryRange(page.after, page.up_to, page.entries[::-1], changed)
        await self._sender.range(device, chat, position, found)


type _Gap = tuple[ConnectedDevice, ChatId, ChatPosition]
"""With the position that was behind. A device that resumes before the gap is read has another one by then."""


@final
class GapFiller:
    """Read the gaps of live devices in the background, a bounded number at a time.

    on_failed: called with a device whose gap could not be read. It must resume.
    """

    def __init__(
        self,
        ranges: CatchUp,
        at_once: int,
        on_failed: Callable[[ConnectedDevice], None],
        report: Callable[[str, BaseException], None],
    ) -> None:
        self._ranges = ranges
        self._on_failed = on_failed
        self._queue: WorkQueue[_Gap] = WorkQueue(self._fill, at_once, report)

    def __len__(self) -> int:
        return len(self._queue)

    def schedule(self, device: ConnectedDevice, chat: ChatId) -> None:
        """Fill the gap of a live device. A device that resumes reads it as part of the resume."""
        position = device.positions.get(chat)
        if device.is_live and position is not None and not position.is_reading and position.is_behind:
            # Until the gap is read, the dispatcher only records pushes of this chat. `catch_up` reads them as well,
            # because it continues while the position is behind.
            position.is_reading = True
            self._queue.add((device, chat, position))

    async def wait_idle(self, within_s: float) -> None:
        await self._queue.wait_idle(within_s)

    async def _fill(self, gap: _Gap) -> None:
        device, chat, position = gap
        device.slow_consumer_guard = None
        try:
            await self._ranges.catch_up(device, chat, position)
        except Exception as error:
            self._on_failed(device)
            if not isinstance(error, TidingsError):
                raise
        finally:
            # Race: the dispatcher records a push after the last check in `catch_up`, when no reader would see it.
            # Nothing is awaited between that check and this line, so it cannot run in between.
            position.is_reading = False
