"""Ranges and rows as frames, at the pace at which a device takes them. A position moves with its frame, never before."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import batched
from typing import NamedTuple, final

from tidings.delivery.model import LastState, Listed
from tidings.gateway.acks import Ordinals
from tidings.gateway.entries import entry_of
from tidings.gateway.pace import Pace
from tidings.gateway.seat import Place, Seat
from tidings.gateway.shares import aside
from tidings.kernel.ids import ChatId, UserId
from tidings.messages.history import Shown
from tidings.wire.codec import encode_push
from tidings.wire.frames.reading import ChatRow, ChatRows, Entries, Entry

FRAME_BYTES = 48 * 1024
"""Well below what may wait for a device, so that one frame never makes it a slow one."""
ENTRY_BYTES = 256
"""What is around a content, roughly."""
ROWS_IN_A_FRAME = 100
WAITING_BYTES = 64 * 1024
"""While more than this waits for a device, nothing more is read for it."""


class Range(NamedTuple):
    """Complete for the user in `(after, up_to]`, oldest first. `changed`: messages that are not in it, as they are now."""

    after: int
    up_to: int
    shown: Sequence[Shown]
    changed: Mapping[int, Shown]


@final
class Sending:
    def __init__(self, ordinals: Ordinals) -> None:
        self._ordinals = ordinals

    async def range(self, seat: Seat, chat: ChatId, place: Place, found: Range) -> None:
        """Ends early when the device is gone, or when its place is another one by now."""
        for after, up_to, some in split(found):
            await self._room(seat)
            if seat.is_gone or seat.places.get(chat) is not place:
                return
            entries = tuple(_shown_to(seat.user, some, found.changed))
            frame = encode_push(Entries(chat=chat, after=after, up_to=up_to, entries=entries))
            seat.connected.push(frame)
            place.position = max(place.position, up_to)
            self._ordinals.note(seat.chat(chat), [shown.entry for shown in some[-1:]])
            for shown in some:
                seat.moved(chat, shown.entry)

    async def rows(self, seat: Seat, listed: Sequence[Listed]) -> None:
        for some in batched(listed, ROWS_IN_A_FRAME):
            await self._room(seat)
            seat.connected.push(encode_push(ChatRows(rows=tuple(map(chat_row, some)))))

    async def _room(self, seat: Seat) -> None:
        """Wait until the device has taken most of what it was sent; nobody else waits for it meanwhile."""
        if seat.socket.buffered_bytes > WAITING_BYTES and not seat.is_gone:
            async with aside():
                seat.pace = seat.pace or Pace()
                await seat.pace.wait(seat, WAITING_BYTES)


def split(found: Range) -> Iterator[tuple[int, int, list[Shown]]]:
    """Frames of a bearable size that follow each other without a hole."""
    after, size, some = found.after, 0, list[Shown]()
    for shown in found.shown:
        weight = ENTRY_BYTES + _content_bytes(shown)
        if some and size + weight > FRAME_BYTES:
            yield after, some[-1].entry.sequence, some
            after, size, some = some[-1].entry.sequence, 0, []
        some.append(shown)
        size += weight
    if after < found.up_to:
        yield after, found.up_to, some


def _content_bytes(shown: Shown) -> int:
    entry = shown.entry
    return len(entry.content) if entry.content else len(shown.content.text) if shown.content else 0


def _shown_to(user: UserId, some: Iterable[Shown], changed: Mapping[int, Shown]) -> Iterator[Entry]:
    for each in some:
        yield entry_of(each, user, changed.get(each.entry.refers_to or 0))


def chat_row(listed: Listed) -> ChatRow:
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
        state=last.state.value if last else LastState.THERE.value,
        is_muted=listed.muted_until_ms is not None,
        is_pinned=listed.is_pinned,
        is_archived=listed.is_archived,
    )
