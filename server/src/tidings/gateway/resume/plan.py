"""Plan what a device must be sent, from its positions, its user's chat rows and the offline queue.

Pure: compares sequences, never times. A chat without a position is unknown to the device: the device receives its row,
and for the most recent of these chats also the last entries (the tail).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from tidings.chats.model import ChatType, chat_type
from tidings.delivery import rules
from tidings.delivery.model import ChatRow
from tidings.gateway.connected_device import UNKNOWN, ConnectedDevice
from tidings.kernel.ids import ChatId
from tidings.messages.model import Entry

MAX_POSITIONS: Final = 100_000

type OfflineQueueEntries = Mapping[ChatId, Mapping[int, Entry]]
"""Entries of the offline queue by chat and sequence."""


class TailLimits(NamedTuple):
    """Number of unknown chats, the most recent, whose tail is sent; entries of each tail."""

    chats: int = 20
    entries: int = 20


class MissedEntries(NamedTuple):
    """A range `(after, up_to]` of a chat that must be sent.

    is_sure: the user may see all of it, so no membership check is needed.
    front, back: entries at both ends of the range that the offline queue has. Only those in between are read.
    """

    chat: ChatId
    after: int
    up_to: int
    is_sure: bool
    front: tuple[Entry, ...] = ()
    back: tuple[Entry, ...] = ()

    @property
    def reads(self) -> tuple[int, int]:
        """The range to read, `(after, up_to]`; empty if the offline queue has all of it."""
        return self.after + len(self.front), self.up_to - len(self.back)


class StartPosition(Struct, frozen=True, gc=False):
    """Where a device starts in a chat. `since`: the entry with which its user joined last."""

    position: int
    since: int | None
    is_member: bool = True


class ResumePlan(NamedTuple):
    """What a resume sends.

    positions: where the device starts in each chat. Unknown chats start at their head, or before their tail.
    rows: of unknown chats, the most recent first.
    ahead: the ranges to send.
    """

    positions: Mapping[ChatId, StartPosition]
    rows: tuple[ChatRow, ...]
    ahead: tuple[MissedEntries, ...]


def make_plan(
    positions: Mapping[ChatId, int], rows: Iterable[ChatRow], queued: OfflineQueueEntries, tails: TailLimits
) -> ResumePlan:
    known, unknown = [], []
    for row in rows:
        if row.chat in positions:
            known.append(row)
        elif rules.is_member(row.known):
            unknown.append(row)
    unknown.sort(key=_activity, reverse=True)
    ahead = [
        _ahead(row, positions[row.chat], queued) for row in known if positions[row.chat] < chat_head(row)
    ]
    tail = [_tail(row, tails.entries, queued) for row in unknown[: tails.chats]]
    start = {
        row.chat: StartPosition(positions[row.chat], _since(row), rules.is_member(row.known)) for row in known
    }
    start |= {row.chat: StartPosition(chat_head(row), _since(row)) for row in unknown}
    start |= {each.chat: StartPosition(each.after, start[each.chat].since) for each in tail}
    return ResumePlan(
        start, tuple(unknown), tuple(each for each in (*ahead, *tail) if each.after < each.up_to)
    )


def chat_head(row: ChatRow) -> int:
    return row.known.head.sequence if row.known.head else 0


def large_chats(rows: Iterable[ChatRow]) -> list[ChatId]:
    """Return the large chats that the user is a member of."""
    return [row.chat for row in rows if row.known.is_large and rules.is_member(row.known)]


def with_removal(row: ChatRow, left: int) -> ChatRow:
    """Return the row of a user who left the chat at the entry `left`."""
    return replace(row, known=replace(row.known, removed=left))


def has_missed_entries(positions: Mapping[ChatId, int], rows: Iterable[ChatRow]) -> bool:
    """Return whether the offline queue may have something for the device.

    Only messages of direct chats are queued. In an unknown chat, those count that no device of the user has received.
    """
    return any(_is_direct(row) and positions.get(row.chat, _delivered(row)) < chat_head(row) for row in rows)


def current_positions(device: ConnectedDevice, reported: Mapping[ChatId, int] | None) -> Mapping[ChatId, int]:
    """Return the positions that the device reported, or those of its connection if it reported none."""
    if reported is not None:
        return reported
    return {chat: each.position for chat, each in device.positions.items() if each.position != UNKNOWN}


def _delivered(row: ChatRow) -> int:
    return row.delivered.sequence if row.delivered else 0


def _ahead(row: ChatRow, position: int, queued: OfflineQueueEntries) -> MissedEntries:
    """Return the range that a known chat misses.

    The users of a direct chat see all of it. The head of a group is shared by all members: the user may have left since
    the row was read, so the range is intersected with their intervals.
    """
    return _with_queued(MissedEntries(row.chat, position, chat_head(row), _is_direct(row)), queued)


def _tail(row: ChatRow, entries: int, queued: OfflineQueueEntries) -> MissedEntries:
    head, since = chat_head(row), _since(row) or 0
    after = max(since - 1, head - entries, 0)
    return _with_queued(MissedEntries(row.chat, after, head, is_sure=_is_direct(row)), queued)


def _with_queued(missed: MissedEntries, queued: OfflineQueueEntries) -> MissedEntries:
    """Take both ends of the range from the offline queue, if the user may surely see all of it.

    Otherwise a gap between two queued entries could be entries that the user may not see.
    """
    entries = queued.get(missed.chat)
    if not entries or not missed.is_sure:
        return missed
    front = _consecutive(entries, range(missed.after + 1, missed.up_to + 1))
    rest = range(missed.up_to, missed.after + len(front), -1)
    return missed._replace(front=tuple(front), back=tuple(reversed(_consecutive(entries, rest))))


def _consecutive(entries: Mapping[int, Entry], sequences: Sequence[int]) -> list[Entry]:
    found: list[Entry] = []
    for sequence in sequences:
        entry = entries.get(sequence)
        if entry is None:
            break
        found.append(entry)
    return found


def _is_direct(row: ChatRow) -> bool:
    return chat_type(row.chat) is ChatType.DIRECT


def _since(row: ChatRow) -> int | None:
    return row.known.joined.sequence if row.known.joined else None


def _activity(row: ChatRow) -> tuple[int, ChatId]:
    shown, joined = row.known.shown, row.known.joined
    return max(shown.at_ms if shown else 0, joined.at_ms if joined else 0), row.chat
