"""What a device is to be sent, from its positions, its user's rows and what was kept for him. Pure: sequences only,
never times. A chat without a position is unknown to the device: it gets the row, and for the newest few the tail.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from tidings.delivery import rules
from tidings.delivery.model import ChatRow
from tidings.gateway.connected_device import UNKNOWN, ConnectedDevice
from tidings.kernel.ids import ChatId
from tidings.messages.model import Entry

type OfflineQueueEntries = Mapping[ChatId, Mapping[int, Entry]]
"""Of the pending queue: entries by chat and sequence."""


class TailLimits(NamedTuple):
    """Of so many unknown chats, the newest, so many entries each."""

    chats: int = 20
    entries: int = 20


class MissedEntries(NamedTuple):
    """`(after, up_to]` of a chat is to be sent. `is_sure`: all of it is the user's to see, nobody need be asked.

    `front` and `back` are there already and lie at the ends of the range; what is between them is to be read.
    """

    chat: ChatId
    after: int
    up_to: int
    is_sure: bool
    front: tuple[Entry, ...] = ()
    back: tuple[Entry, ...] = ()

    @property
    def reads(self) -> tuple[int, int]:
        """What is to be read, `(after, up_to]`; empty if all of it is there."""
        return self.after + len(self.front), self.up_to - len(self.back)


class StartPosition(Struct, frozen=True, gc=False):
    """Where a device stands in a chat when the plan is carried out; `since`: the entry that let its user in last."""

    position: int
    since: int | None
    is_member: bool = True


class ResumePlan(NamedTuple):
    positions: Mapping[ChatId, StartPosition]
    """Where the device stands before anything is sent: unknown chats at their head, or below their tail."""
    rows: tuple[ChatRow, ...]
    """Of unknown chats, newest first."""
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
    begun = {
        row.chat: StartPosition(positions[row.chat], _since(row), rules.is_member(row.known)) for row in known
    }
    begun |= {row.chat: StartPosition(chat_head(row), _since(row)) for row in unknown}
    begun |= {each.chat: StartPosition(each.after, begun[each.chat].since) for each in tail}
    return ResumePlan(
        begun, tuple(unknown), tuple(each for each in (*ahead, *tail) if each.after < each.up_to)
    )


def chat_head(row: ChatRow) -> int:
    return row.known.head.sequence if row.known.head else 0


def large_chats(rows: Iterable[ChatRow]) -> list[ChatId]:
    """Return the large chats that the user is a member of."""
    return [row.chat for row in rows if row.known.is_large and rules.is_member(row.known)]


def removed_chats(row: ChatRow, left: int) -> ChatRow:
    """Return the row of a user who left the chat at the entry `left`."""
    return replace(row, known=replace(row.known, removed=left))


def has_missed_entries(positions: Mapping[ChatId, int], rows: Iterable[ChatRow]) -> bool:
    """Of a small chat: only of these something is kept. Of an unknown one, what no device of the user has had yet."""
    return any(
        not row.known.is_large and positions.get(row.chat, _delivered(row)) < chat_head(row) for row in rows
    )


def _delivered(row: ChatRow) -> int:
    return row.delivered.sequence if row.delivered else 0


def _ahead(row: ChatRow, position: int, queued: OfflineQueueEntries) -> MissedEntries:
    """What lies in the user's last stay is his to see up to his row's head: nothing else moves that head.

    But for a large chat, whose head is everybody's: he may have left since his row was read.
    """
    since = _since(row)
    is_sure = since is not None and position >= since - 1 and not row.known.is_large
    return _covered(MissedEntries(row.chat, position, chat_head(row), is_sure), queued)


def _tail(row: ChatRow, entries: int, queued: OfflineQueueEntries) -> MissedEntries:
    head, since = chat_head(row), _since(row) or 0
    after = max(since - 1, head - entries, 0)
    return _covered(MissedEntries(row.chat, after, head, is_sure=not row.known.is_large), queued)


def _covered(ahead: MissedEntries, queued: OfflineQueueEntries) -> MissedEntries:
    """Only of what is surely his: else nobody knows which sequences may be missing between two that are kept."""
    there = queued.get(ahead.chat)
    if not there or not ahead.is_sure:
        return ahead
    front = _run(there, range(ahead.after + 1, ahead.up_to + 1))
    rest = range(ahead.up_to, ahead.after + len(front), -1)
    return ahead._replace(front=tuple(front), back=tuple(reversed(_run(there, rest))))


def _run(there: Mapping[int, Entry], places: Sequence[int]) -> list[Entry]:
    found: list[Entry] = []
    for place in places:
        entry = there.get(place)
        if entry is None:
            break
        found.append(entry)
    return found


def _since(row: ChatRow) -> int | None:
    return row.known.joined.sequence if row.known.joined else None


def _activity(row: ChatRow) -> tuple[int, ChatId]:
    shown, joined = row.known.shown, row.known.joined
    return max(shown.at_ms if shown else 0, joined.at_ms if joined else 0), row.chat


MAX_POSITIONS: Final = 100_000


def held_positions(device: ConnectedDevice) -> dict[ChatId, int]:
    return {chat: place.position for chat, place in device.positions.items() if place.position != UNKNOWN}
