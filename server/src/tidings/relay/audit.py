"""What was read of one shard and is not handled yet, and the checkpoint that follows from it.

Kept in memory alone, so the checkpoint lies before the oldest of it: who takes over reads it again.
"""

import random
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import UnavailableError
from tidings.kernel.failpoints import NO_PAUSES, Failpoints
from tidings.kernel.fences import OffsetFence, PartitionProgress, fence_at, is_explained_by_lag
from tidings.kernel.ids import ChatKey
from tidings.relay import rules
from tidings.relay.model import EntryCommitted, ShardId, ShardRecord
from tidings.relay.ports import ConsumerLag, DeliveryCheckpoints, EventPublisher, RelayLogPort

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


_RECHECK_S, _MAX_RECHECK_S = 1.0, 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPolicy:
    """`delay_s` until a commit is looked into; tries then come at most `longest_s` apart, `max_tries` of them."""

    delay_s: float = 5.0
    longest_s: float = 300.0
    max_tries: int = 12
    at_once: int = 16


@dataclass(slots=True)
class AuditStats:
    handled: int = 0
    republished: int = 0
    given_up: int = 0


class AuditAlerts(Protocol):
    """For people: what the relay could not put right by itself."""

    def on_given_up(self, chat: ChatKey, first: int, last: int) -> None: ...


@dataclass(slots=True, kw_only=True)
class Audit:
    """Of all shards that a process reads. A chat is in one of them at a time."""

    checkpoints: DeliveryCheckpoints
    consumers: ConsumerLag
    log: RelayLogPort
    outbox: EventPublisher
    clock: Clock
    alerts: AuditAlerts
    policy: AuditPolicy = field(default_factory=AuditPolicy)
    failpoints: Failpoints = NO_PAUSES
    counts: AuditStats = field(default_factory=AuditStats)
    backlogs: dict[ShardId, Backlog] = field(default_factory=dict)

    def open(self, shard: ShardId, checkpoint: str | None) -> Backlog:
        backlog = self.backlogs[shard] = Backlog(checkpoint, self.policy.delay_s)
        return backlog

    def close(self, shard: ShardId) -> None:
        self.backlogs.pop(shard, None)

    async def round(self) -> None:
        """Judge every chat whose mark can be read. Raises `UnavailableError` if none can."""
        now = self.clock.monotonic()
        asked = [(backlog, behind) for backlog in self.backlogs.values() for behind in backlog.due(now)]
        if not asked:
            return
        due = {behind.chat for _, behind in asked if behind.due_at <= now}
        # before the marks: whoever is past the fence has marked what he handled
        reached = await self._reached(due)
        answers = await self.checkpoints.read([behind.chat for _, behind in asked])
        marks = answers.found
        for _, behind in asked:
            if behind.chat in answers.unknown:
                _next_check_s(behind, now)
        # A chat whose mark can't be read is not judged: it may have been handled. The others are.
        known = [each for each in asked if each[1].chat not in answers.unknown]
        late = [each for each in known if self._is_left(*each, marks, now)]
        await self._initialize_checkpoints([behind for _, behind in late if behind.chat not in marks])
        silent = [each for each in late if each[1].due_at <= now and self._is_silent(each[1], reached)]
        await self._republish(silent, marks)

    async def _reached(self, due: set[ChatKey]) -> Mapping[ChatKey, PartitionProgress]:
        try:
            return await self.consumers.progress(due) if due else {}
        except UnavailableError:
            return {}  # then nothing can be published either

    async def _initialize_checkpoints(self, unmarked: Sequence[LaggingChat]) -> None:
        """Redis has lost them. A worker that knows nothing of the chat would mark what follows, and all below with it."""
        await gather_limited(map(self._begin_mark, unmarked), self.policy.at_once)

    async def _begin_mark(self, behind: LaggingChat) -> None:
        # The shard of Redis failed after the checkpoint was read: the next round tries again.
        with suppress(UnavailableError):
            await self.checkpoints.begin(behind.chat, behind.first - 1)

    def _is_left(
        self, backlog: Backlog, behind: LaggingChat, marks: Mapping[ChatKey, int], now: float
    ) -> bool:
        had = len(backlog)
        is_left = backlog.remove_processed(behind, marks.get(behind.chat))
        self.counts.handled += had - len(backlog)
        if is_left:
            _next_check_s(behind, now)
        return is_left

    def _is_silent(self, behind: LaggingChat, reached: Mapping[ChatKey, PartitionProgress]) -> bool:
        place = reached.get(behind.chat)
        if place is None:
            return False
        if behind.fence is None:
            behind.fence = fence_at(place)
        return not is_explained_by_lag(behind.fence, place)

    async def _republish(
        self, silent: Sequence[tuple[Backlog, LaggingChat]], marks: Mapping[ChatKey, int]
    ) -> None:
        retries = (self._retry(*each, marks.get(each[1].chat)) for each in silent)
        await gather_limited(retries, self.policy.at_once)

    async def _retry(self, backlog: Backlog, behind: LaggingChat, mark: int | None) -> None:
        if behind.tries >= self.policy.max_tries:
            self._give_up(backlog, behind)
            return
        after = behind.first - 1 if mark is None else mark
        try:
            entries = await self.log.between(behind.chat, after, behind.newest)
            await self.failpoints.hit("relay.publishes")
            if entries:
                behind.fence = await self.outbox.publish(behind.chat, entries)
        except UnavailableError:
            behind.due_at = self.clock.monotonic() + self.policy.delay_s
            return
        self.counts.republished += len(entries)
        behind.due_at = self.clock.monotonic() + self._wait_s(behind.tries)
        behind.tries += 1

    def _give_up(self, backlog: Backlog, behind: LaggingChat) -> None:
        """Published, consumed and not marked, again and again: somebody has to look. The chat's next entry tries anew."""
        self.counts.given_up += 1
        self.alerts.on_given_up(behind.chat, behind.first, behind.newest)
        backlog.set_down(behind)

    def _wait_s(self, tries: int) -> float:
        longest = rules.backoff_s(self.policy.delay_s, self.policy.longest_s, tries)
        return random.uniform(longest / 2, longest)  # noqa: S311 - spreads tries, hides nothing


def _next_check_s(behind: LaggingChat, now: float) -> None:
    behind.check_at = now + min(max((now - behind.since) / 4, _RECHECK_S), _MAX_RECHECK_S)
