"""What was read of one shard and is not handled yet, and the checkpoint that follows from it.

Kept in memory alone, so the checkpoint lies before the oldest of it: who takes over reads it again.
"""

from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tidings.kernel.fences import OffsetFence
from tidings.kernel.ids import ChatKey
from tidings.relay.model import EntryCommitted, ShardRecord

POINTS_PER_CHAT = 64
"""Past that, what follows of a chat is one range: a busy chat that is stuck takes no more room."""


@dataclass(slots=True)
class _BacklogPoint:
    """Entries from `first` to `last`; `before` is the record before the first of them."""

    number: int
    first: int
    last: int
    before: str | None
    seen_at: float


@dataclass(slots=True)
class LaggingChat:
    """A chat whose mark does not cover what was seen of it."""

    chat: ChatKey
    due_at: float
    check_at: float
    points: deque[_BacklogPoint] = field(default_factory=deque)
    fence: OffsetFence | None = None
    tries: int = 0

    @property
    def first(self) -> int:
        """Entries of one transaction may come in any order."""
        return min(point.first for point in self.points)

    @property
    def newest(self) -> int:
        return max(point.last for point in self.points)

    @property
    def since(self) -> float:
        return self.points[0].seen_at


class Backlog:
    def __init__(self, checkpoint: str | None, patience_s: float) -> None:
        self._read_to = checkpoint
        self._delay_s = patience_s
        self._points: OrderedDict[int, _BacklogPoint] = OrderedDict()
        self._number = 0
        self._behind: dict[ChatKey, LaggingChat] = {}

    def __len__(self) -> int:
        return len(self._points)

    @property
    def read_to(self) -> str | None:
        """The last record that was read."""
        return self._read_to

    @property
    def checkpoint(self) -> str | None:
        """Everything up to here was handled."""
        oldest = next(iter(self._points.values()), None)
        return self._read_to if oldest is None else oldest.before

    @property
    def oldest_seen_at(self) -> float | None:
        oldest = next(iter(self._points.values()), None)
        return None if oldest is None else oldest.seen_at

    def take(self, records: Sequence[ShardRecord], now: float) -> None:
        for record in records:
            if isinstance(record.changes, EntryCommitted):
                self._add(record.changes, now)
            self._read_to = record.number

    def due(self, now: float) -> Iterator[LaggingChat]:
        return (behind for behind in self._behind.values() if behind.check_at <= now)

    def remove_processed(self, behind: LaggingChat, mark: int | None) -> bool:
        """Lets go of what the mark covers. False: nothing is left of the chat."""
        points = behind.points
        has_moved = False
        while points and mark is not None and points[0].last <= mark:
            del self._points[points.popleft().number]
            has_moved = True
        if not points:
            del self._behind[behind.chat]
            return False
        if has_moved:
            behind.tries, behind.fence = 0, None
            behind.due_at = behind.since + self._delay_s
        return True

    def set_down(self, behind: LaggingChat) -> None:
        """It holds the checkpoint no longer."""
        for point in behind.points:
            del self._points[point.number]
        del self._behind[behind.chat]

    def _add(self, news: EntryCommitted, now: float) -> None:
        behind = self._behind.get(news.chat)
        if behind is None:
            behind = LaggingChat(news.chat, due_at=now + self._delay_s, check_at=now)
            self._behind[news.chat] = behind
        elif len(behind.points) >= POINTS_PER_CHAT:
            last = behind.points[-1]
            last.first, last.last = min(last.first, news.sequence), max(last.last, news.sequence)
            return
        self._number += 1
        point = _BacklogPoint(self._number, news.sequence, news.sequence, self._read_to, now)
        behind.points.append(point)
        self._points[point.number] = point
