"""Audit commits: republish entries of which delivery has no checkpoint after its consumers have passed them.

The backlog of a shard is kept in memory. The shard's checkpoint is before the oldest entry of the backlog, so a process
that takes over the shard reads these entries again.
"""

import random
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from tidings.delivery.ports import DeliveryCheckpoints
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import TidingsError, UnavailableError
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.kernel.fences import OffsetFence, PartitionProgress, fence_at, is_explained_by_lag
from tidings.kernel.ids import ChatKey
from tidings.messages.model import Entry
from tidings.relay import rules
from tidings.relay.model import ConsumerLag, EntryCommitted, EventPublisher, ShardId, ShardRecord

POINTS_PER_CHAT = 64
"""Further entries of a chat extend its last point, so a busy chat that is stuck needs bounded memory."""
_RECHECK_S, _MAX_RECHECK_S = 1.0, 10.0

type EntryReader = Callable[[ChatKey, int, int], Awaitable[Sequence[Entry]]]
"""Read entries of `(after, up_to]` in order, without gaps: as many as one strongly consistent read returns."""


@dataclass(slots=True)
class _BacklogPoint:
    """Entries from `first` to `last`. `before` is the stream record before the first of them."""

    number: int
    first: int
    last: int
    before: str | None
    seen_at: float


@dataclass(slots=True)
class LaggingChat:
    """A chat with commits above its delivery checkpoint.

    `check_at`: when the checkpoint is read again. `due_at`: when the chat may be republished. `fence`: everything
    published so far is below it.
    """

    chat: ChatKey
    due_at: float
    check_at: float
    points: deque[_BacklogPoint] = field(default_factory=deque)
    fence: OffsetFence | None = None
    tries: int = 0

    @property
    def first(self) -> int:
        # The stream may return the entries of one transaction in any order.
        return min(point.first for point in self.points)

    @property
    def newest(self) -> int:
        return max(point.last for point in self.points)

    @property
    def since(self) -> float:
        return self.points[0].seen_at

    def schedule_check(self, now: float) -> None:
        """Read the checkpoint again after a quarter of the time that the chat has lagged, within bounds."""
        self.check_at = now + min(max((now - self.since) / 4, _RECHECK_S), _MAX_RECHECK_S)


class Backlog:
    """Commits of one shard that were read and are not known to be processed."""

    def __init__(self, checkpoint: str | None, delay_s: float) -> None:
        self._read_to = checkpoint
        self._delay_s = delay_s
        self._points: OrderedDict[int, _BacklogPoint] = OrderedDict()
        self._number = 0
        self._lagging: dict[ChatKey, LaggingChat] = {}

    def __len__(self) -> int:
        return len(self._points)

    @property
    def checkpoint(self) -> str | None:
        """The record up to which everything is processed."""
        oldest = next(iter(self._points.values()), None)
        return self._read_to if oldest is None else oldest.before

    @property
    def oldest_seen_at(self) -> float | None:
        oldest = next(iter(self._points.values()), None)
        return None if oldest is None else oldest.seen_at

    def add(self, records: Sequence[ShardRecord], now: float) -> None:
        for record in records:
            if isinstance(record.changes, EntryCommitted):
                self._add(record.changes, now)
            self._read_to = record.number

    def due(self, now: float) -> Iterator[LaggingChat]:
        return (lagging for lagging in self._lagging.values() if lagging.check_at <= now)

    def remove_processed(self, lagging: LaggingChat, checkpoint: int | None) -> bool:
        """Remove the entries up to the delivery checkpoint. Return False if the chat has no others."""
        points = lagging.points
        has_moved = False
        while points and checkpoint is not None and points[0].last <= checkpoint:
            del self._points[points.popleft().number]
            has_moved = True
        if not points:
            del self._lagging[lagging.chat]
            return False
        if has_moved:
            lagging.tries, lagging.fence = 0, None
            lagging.due_at = lagging.since + self._delay_s
        return True

    def remove(self, lagging: LaggingChat) -> None:
        """Remove the chat, so that it no longer holds back the checkpoint."""
        for point in lagging.points:
            del self._points[point.number]
        del self._lagging[lagging.chat]

    def _add(self, committed: EntryCommitted, now: float) -> None:
        lagging = self._lagging.get(committed.chat)
        if lagging is None:
            lagging = LaggingChat(committed.chat, due_at=now + self._delay_s, check_at=now)
            self._lagging[committed.chat] = lagging
        elif len(lagging.points) >= POINTS_PER_CHAT:
            last = lagging.points[-1]
            last.first, last.last = min(last.first, committed.sequence), max(last.last, committed.sequence)
            return
        self._number += 1
        point = _BacklogPoint(self._number, committed.sequence, committed.sequence, self._read_to, now)
        lagging.points.append(point)
        self._points[point.number] = point


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPolicy:
    """Republish a commit `delay_s` after it was read, then at most every `longest_s`, `max_tries` times."""

    delay_s: float = 5.0
    longest_s: float = 300.0
    max_tries: int = 12
    at_once: int = 16


@dataclass(slots=True)
class AuditStats:
    handled: int = 0
    republished: int = 0
    given_up: int = 0


@dataclass(slots=True, kw_only=True)
class Audit:
    """Audits all shards that this process reads. A chat is in one shard at a time.

    `on_given_up(chat, first, last)` reports entries that delivery does not process even after republishing.
    """

    checkpoints: DeliveryCheckpoints
    consumers: ConsumerLag
    read_entries: EntryReader
    publisher: EventPublisher
    clock: Clock
    on_given_up: Callable[[ChatKey, int, int], None]
    policy: AuditPolicy = field(default_factory=AuditPolicy)
    failpoints: Failpoints = NO_FAILPOINTS
    counts: AuditStats = field(default_factory=AuditStats)
    backlogs: dict[ShardId, Backlog] = field(default_factory=dict)

    def open(self, shard: ShardId, checkpoint: str | None) -> Backlog:
        backlog = self.backlogs[shard] = Backlog(checkpoint, self.policy.delay_s)
        return backlog

    def close(self, shard: ShardId) -> None:
        self.backlogs.pop(shard, None)

    async def round(self) -> None:
        """Audit every chat whose checkpoint can be read. Raises `UnavailableError` if none can."""
        now = self.clock.monotonic()
        checked = [(backlog, lagging) for backlog in self.backlogs.values() for lagging in backlog.due(now)]
        if not checked:
            return
        due = {lagging.chat for _, lagging in checked if lagging.due_at <= now}
        # Race: a worker processes an event, writes the checkpoint and commits the offset between our two reads. Read the
        # offsets first: if they are past the fence, the checkpoint that we read afterwards includes the event.
        progress = await self._consumer_progress(due)
        answers = await self.checkpoints.read([lagging.chat for _, lagging in checked])
        if len(answers.unknown) == len(checked):
            raise UnavailableError(f"delivery checkpoints: {answers.failure}")
        checkpoints = answers.found
        # An unknown checkpoint may cover the entries, so such a chat is only checked again.
        for _, lagging in checked:
            if lagging.chat in answers.unknown:
                lagging.schedule_check(now)
        known = [each for each in checked if each[1].chat not in answers.unknown]
        late = [each for each in known if self._is_left(*each, checkpoints, now)]
        await self._create_checkpoints([lagging for _, lagging in late if lagging.chat not in checkpoints])
        lost = [each for each in late if each[1].due_at <= now and self._is_lost(each[1], progress)]
        retries = (self._republish(*each, checkpoints.get(each[1].chat)) for each in lost)
        await gather_limited(retries, self.policy.at_once)

    async def _consumer_progress(self, due: set[ChatKey]) -> Mapping[ChatKey, PartitionProgress]:
        try:
            return await self.consumers.progress(due) if due else {}
        except UnavailableError:
            return {}  # Without Kafka nothing can be republished either.

    async def _create_checkpoints(self, missing: Sequence[LaggingChat]) -> None:
        """Create checkpoints that Redis has lost, below the first unprocessed entry."""
        # Race: a worker without a checkpoint of the chat processes its next entry while we audit older ones. Its new
        # checkpoint would also cover the older entries, which were never processed. A checkpoint advances without gaps,
        # so once this one exists, the worker must process the older entries first.
        await gather_limited(map(self._create_checkpoint, missing), self.policy.at_once)

    async def _create_checkpoint(self, lagging: LaggingChat) -> None:
        # The shard of Redis failed after the checkpoint was read: the next round tries again.
        with suppress(UnavailableError):
            below = lagging.first - 1
            await self.checkpoints.advance(lagging.chat, below, below)

    def _is_left(
        self, backlog: Backlog, lagging: LaggingChat, checkpoints: Mapping[ChatKey, int], now: float
    ) -> bool:
        before = len(backlog)
        is_left = backlog.remove_processed(lagging, checkpoints.get(lagging.chat))
        self.counts.handled += before - len(backlog)
        if is_left:
            lagging.schedule_check(now)
        return is_left

    def _is_lost(self, lagging: LaggingChat, progress: Mapping[ChatKey, PartitionProgress]) -> bool:
        """Report whether the events are lost: the consumers are past the fence, and the checkpoint is not."""
        reached = progress.get(lagging.chat)
        if reached is None:
            return False
        if lagging.fence is None:
            lagging.fence = fence_at(reached)
        return not is_explained_by_lag(lagging.fence, reached)

    async def _republish(self, backlog: Backlog, lagging: LaggingChat, checkpoint: int | None) -> None:
        if lagging.tries >= self.policy.max_tries:
            self._give_up(backlog, lagging)
            return
        after = lagging.first - 1 if checkpoint is None else checkpoint
        try:
            # Race: a worker processes the entries while we read and publish them. It then receives them twice, which is
            # harmless: rows and watermarks only advance, and devices ignore entries that they have.
            entries = await self.read_entries(lagging.chat, after, lagging.newest)
            await self.failpoints.hit("relay.publishes")
            if entries:
                lagging.fence = await self.publisher.publish(lagging.chat, entries)
        except (UnavailableError, TidingsError) as error:
            if isinstance(error, TidingsError) and not error.retryable:
                raise
            lagging.due_at = self.clock.monotonic() + self.policy.delay_s
            return
        self.counts.republished += len(entries)
        lagging.due_at = self.clock.monotonic() + self._wait_s(lagging.tries)
        lagging.tries += 1

    def _give_up(self, backlog: Backlog, lagging: LaggingChat) -> None:
        """Stop republishing a chat that was consumed `max_tries` times without effect. Its next entry starts again."""
        self.counts.given_up += 1
        self.on_given_up(lagging.chat, lagging.first, lagging.newest)
        backlog.remove(lagging)

    def _wait_s(self, tries: int) -> float:
        longest = rules.backoff_s(self.policy.delay_s, self.policy.longest_s, tries)
        return random.uniform(longest / 2, longest)  # noqa: S311 - spreads retries, not a secret
