"""Ranges and rows as frames, at the pace at which a device takes them. A position moves with its frame, never before."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import batched
from typing import NamedTuple, final

from tidings.delivery.model import ChatListItem, LastMessageState
from tidings.gateway.acks import OrdinalCache
from tidings.gateway.entries import entry_frame
from tidings.gateway.pace import SlowConsumerGuard
from tidings.gateway.seat import ChatPosition, ConnectedDevice
from tidings.gateway.shares import release_slot
from tidings.kernel.ids import ChatId, UserId
from tidings.messages.history import VisibleEntry
from tidings.wire.codec import encode_push
from tidings.wire.frames.reading import ChatRow, ChatRows, Entries, Entry

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


def chat_row_frame(listed: ChatListItem) -> ChatRow:
    last = listed.last
    return ChatRow(
        chat=listed.chat.chat,
        head=listed.head_sequence,
        unread=listed.unread,
        read=listed.read_sequence,
        name=listed.name,
        members=listed.members,
        at=listed.at_ms,
        by=last.sender if last else None,
        preview=last.text if last and last.text else None,
        last=last.sequence if last else 0,
        state=last.state.value if last else LastMessageState.ACTIVE.value,
        is_muted=listed.muted_until_ms is not None,
        is_pinned=listed.is_pinned,
        is_archived=listed.is_archived,
    )
