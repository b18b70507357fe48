"""The delivery worker: what is done with committed entries, step by step, in the order that the promises hang on.

1. What lies before an entry and was not handled is read from the log and handled first. 2. The truth: rows, heads,
queues. 3. Look up routes, push. 4. Keep messages for who has no route, look up again, ring. 5. Mark as handled.
Whoever calls commits his offset after that. Everything may be repeated at any time; nothing is left out.

Redis may answer for some keys and not for others. A chat is late if one of its users, gateways or channels could not
be asked: the truth is written, whoever can be found gets the push, and the chat is not marked. Other chats are not
affected, and the partition does not wait for what is only an accelerator. A late chat's entries come again with its
next entry, or by the relay; gateways whose subscription was lost have their devices resume.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import NamedTuple

from tidings.connections.model import LookupResult, RegistryUnavailableError
from tidings.delivery import fanout_plan, rules
from tidings.delivery.audience import CachedAudience
from tidings.delivery.chat_rows import ChatRowProjector
from tidings.delivery.fanout import DeferredChats, Fanout
from tidings.delivery.fanout_plan import FanoutPlan
from tidings.delivery.model import DeliveryStats
from tidings.delivery.offline import OfflineQueueRedactor
from tidings.delivery.ports import DeliveryCheckpoints, LogReader
from tidings.delivery.progress import LATE_ENTRIES, ProgressCache
from tidings.delivery.rules import EntryRun
from tidings.kernel.concurrency import gather_limited, gather_results
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.failpoints import Failpoints
from tidings.kernel.ids import ChatKey
from tidings.messages.model import Entry

_log = logging.getLogger(__name__)

MAX_CONCURRENT_CHATS = 32
_TRIES_TO_MARK = 5
_LOG_EVERY_S = 60.0
_TRIES_TO_STORE = 4
_LEFT_ENTRIES = 20
_LEFT_MS = 120_000
"""Longer than it takes until another worker has a dead one's partitions, or the relay has looked."""

type ChatEntries = tuple[ChatKey, Sequence[Entry]]
"""Committed entries of one chat, as an event brings them."""


class _WrittenRows(NamedTuple):
    """The truth of a run is written. From `first` on everything below it is handled, but not marked."""

    plans: tuple[FanoutPlan, ...]
    first: int
    last: int

    @property
    def chat(self) -> ChatKey:
        return self.plans[0].chat


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerDeps:
    rows: ChatRowProjector
    audience: CachedAudience
    log: LogReader
    withdrawing: OfflineQueueRedactor
    checkpoints: DeliveryCheckpoints


class DeliveryWorker:
    """Of each chat one at a time: who calls sees to it, because a chat's events stand in one partition."""

    def __init__(
        self,
        stores: WorkerDeps,
        reaching: Fanout,
        *,
        counts: DeliveryStats,
        failpoints: Failpoints,
        progress: ProgressCache | None = None,
    ) -> None:
        self._stores = stores
        self._reaching = reaching
        self._counts = counts
        self._failpoints = failpoints
        self._memory = progress or ProgressCache()
        self._quiet_until = float("-inf")
        self._through_count = 0

    async def handle(self, news: Iterable[ChatEntries]) -> None:
        """Handle chats side by side. Those that got through stay so when another did not; then the first error is raised.

        A chat that a store refuses again and again while others get through is left late, so that one throttled user
        or chat does not stop its partition. It is not marked: the relay brings it again.
        """
        chats = group_by_chat(news)
        marks = await self._read_checkpoints(chats)
        begun = await gather_results(
            (self._begin(chat, entries, marks) for chat, entries in chats.items()), MAX_CONCURRENT_CHATS
        )
        refused: dict[ChatKey, BaseException] = {
            chat: each for chat, each in zip(chats, begun, strict=True) if isinstance(each, BaseException)
        }
        refused |= await self._finish([each for each in begun if isinstance(each, _WrittenRows)])
        self._through_count += len(chats) - len(refused)
        for chat, error in refused.items():
            if not self._is_unprocessed(chat, chats[chat], error):
                raise error

    def _is_unprocessed(self, chat: ChatKey, run: EntryRun, error: BaseException) -> bool:
        """Whether a refused chat is left late. While nothing else gets through either, the store is away: wait for it."""
        brought = self._memory.get(chat)
        if not isinstance(error, TidingsError) or not error.retryable:
            return False
        if not brought.consecutive_refusals:
            brought.chats_processed_before = self._through_count
        brought.consecutive_refusals += 1
        if (
            brought.consecutive_refusals < _TRIES_TO_STORE
            or self._through_count == brought.chats_processed_before
        ):
            return False
        brought.consecutive_refusals = 0
        self._late(chat, run)
        return True

    async def _read_checkpoints(self, chats: Mapping[ChatKey, EntryRun]) -> LookupResult[ChatKey, int]:
        """Read the marks of chats that others may have brought further than this worker knows."""
        asked = [chat for chat, run in chats.items() if not self._memory.get(chat).covers(run[0].sequence)]
        return await self._stores.checkpoints.read(asked) if asked else LookupResult({})

    async def _begin(
        self, chat: ChatKey, entries: EntryRun, marks: LookupResult[ChatKey, int]
    ) -> _WrittenRows | None:
        """Steps 1 and 2. None: there is nothing left to do, or it has to wait for Redis."""
        brought = self._memory.get(chat)
        brought.mark_processed(marks.found.get(chat, 0))
        has_answer = chat not in marks.unknown
        fresh = [entry for entry in entries if entry.sequence > brought.processed]
        if not fresh:
            self._counts.repeated += len(entries)
            await self._retry_checkpoint(chat, entries[0].sequence, brought.processed)
            return None
        if brought.is_unknown and has_answer:
            fresh = [*await self._left_by_previous_worker(chat, fresh[0]), *fresh]
        # Checkpoint unknown: earlier entries may be unpushed, so pushing these would reorder them. After a long
        # outage that still lasts, working off all that is late with each entry would cost more than it brings: the
        # relay brings it in pages.
        is_known = brought.covers(fresh[0].sequence) or (
            has_answer and not brought.is_retry_too_large(fresh[0].sequence)
        )
        at = brought.start_after(fresh[0].sequence, checkpoint_known=is_known)
        fresh = [*await self._late_before(chat, at, fresh[0].sequence), *fresh]
        *before, run = rules.split_runs(fresh)
        is_reached = await self._fill(chat, at, [*before, run])
        await self._failpoints.hit("worker.gap_filled")
        first = await self._write(chat, run)
        brought.mark_rows_written(run[-1].sequence)
        await self._failpoints.hit("worker.rows_written")
        if first is None or not is_reached or not is_known:
            self._late(chat, run, is_tried=is_known)
            return None
        return _WrittenRows(await self._plans(chat, run), min(first, at + 1), run[-1].sequence)

    async def _left_by_previous_worker(self, chat: ChatKey, first: Entry) -> list[Entry]:
        """Read what came shortly before in a chat without a mark: a worker that died may have left it late.

        Marking what follows would mark it too. What is older was handled, or the relay has begun a mark below it. A
        burst is read back until its entries are old enough, up to `LATE_ENTRIES`.
        """
        found: list[Entry] = []
        end = first.sequence - 1
        while end > 0 and len(found) < LATE_ENTRIES:
            page = await self._stores.log.between(chat, max(0, end - _LEFT_ENTRIES), end)
            recent = list(dropwhile(lambda each: each.created_at_ms < first.created_at_ms - _LEFT_MS, page))
            found = [*recent, *found]
            if not page or len(recent) < len(page):
                break
            end = page[0].sequence - 1
        return found

    async def _late_before(self, chat: ChatKey, at: int, first: int) -> Sequence[Entry]:
        """Read what was left late before `first`, so that it goes in one push with what follows.

        In two pushes the first could miss a user whose shard does not answer and the second find them: their device
        would begin with the later entries.
        """
        found: list[Entry] = []
        while self._memory.get(chat).first_deferred and at + 1 < first and len(found) < LATE_ENTRIES:
            some = await self._stores.log.between(chat, at, first - 1)
            if not some:
                break
            found += some
            at = some[-1].sequence
        self._counts.backfilled += len(found)
        return found

    async def _fill(self, chat: ChatKey, at: int, runs: Sequence[EntryRun]) -> bool:
        """Step 1: everything up to the last of the runs. False: Redis went away, so only the truth was written."""
        is_reached = True
        for run in runs:
            if at + 1 < run[0].sequence:
                is_reached &= await self._from_log(chat, at, run[0].sequence - 1)
            if run is not runs[-1]:
                is_reached &= await self._through(chat, run)
            at = run[-1].sequence
        return is_reached

    async def _from_log(self, chat: ChatKey, after: int, up_to: int) -> bool:
        is_reached = True
        while after < up_to and (entries := await self._stores.log.between(chat, after, up_to)):
            self._counts.backfilled += len(entries)
            is_reached &= await self._through(chat, entries)
            after = entries[-1].sequence
        return is_reached

    async def _through(self, chat: ChatKey, run: EntryRun) -> bool:
        """Steps 2 to 4 for what comes before. It is marked together with what comes after it."""
        is_written = await self._write(chat, run) is not None
        is_reached = is_written and chat not in await self._fan_out(await self._plans(chat, run))
        if not is_reached:
            self._late(chat, run)
        return is_reached

    async def _write(self, chat: ChatKey, run: EntryRun) -> int | None:
        """Step 2. From where on all is handled that lies before the run; None if Redis went away over that."""
        self._stores.audience.follow(chat, run)
        missed = await self._stores.rows.handle(chat, run)
        await self._stores.withdrawing(chat, run)
        if missed is None:
            return run[0].sequence
        return missed.after + 1 if await self._from_log(chat, *missed) else None

    async def _plans(self, chat: ChatKey, run: EntryRun) -> tuple[FanoutPlan, ...]:
        """A run in which the chat became large has two: up to that entry it goes to everybody by his routes."""
        crowd = await self._stores.audience.of(chat, run[-1].sequence)
        since = crowd.large_since
        if since is None:
            return (fanout_plan.plan_small(chat, run, crowd.members),)
        small = [entry for entry in run if entry.sequence <= since]
        large = run[len(small) :]
        plans = (fanout_plan.plan_large(chat, large),) if large else ()
        if not small:
            return plans
        members = await self._stores.audience.everyone(chat)
        becomes_large = small[-1].sequence == since
        return fanout_plan.plan_small(chat, small, members, becomes_large=becomes_large), *plans

    async def _fan_out(self, plans: Sequence[FanoutPlan]) -> set[ChatKey]:
        """Steps 3 and 4. Return the chats that are late."""
        return (await self._fanned_out(plans)).chats

    async def _fanned_out(self, plans: Sequence[FanoutPlan]) -> DeferredChats:
        late = await self._reaching.deliver(plans)
        if late.chats:
            self._notify_offline(late.reason)
        return late

    async def _finish(self, written: Sequence[_WrittenRows]) -> Mapping[ChatKey, TidingsError]:
        """Steps 3 to 5. Return the chats whose messages could not be kept for users who are away."""
        if not written:
            return {}
        reached = await self._fanned_out([plan for each in written for plan in each.plans])
        late = reached.chats
        for each in written:
            if each.chat in late:
                self._memory.get(each.chat).defer(each.first, each.last)
                self._counts.deferred += each.last - each.first + 1
        await gather_limited(
            (self._mark(each) for each in written if each.chat not in late), MAX_CONCURRENT_CHATS
        )
        await self._failpoints.hit("worker.marked")
        return reached.failed

    async def _mark(self, done: _WrittenRows) -> None:
        """Step 5. A mark that stays behind says that something before was not handled: that is done, then marked.

        With what was reached already behind it: who came in between and left the chat long ago begins with what is
        pushed late, and is to get his leave too.
        """
        brought, (first, last) = self._memory.get(done.chat), (done.first, done.last)
        behind = brought.processed_before(first)
        for _ in range(_TRIES_TO_MARK):
            if behind < first - 1 and not await self._from_log(done.chat, behind, last):
                return
            first = behind + 1
            try:
                behind = await self._stores.checkpoints.advance(done.chat, first, last)
            except RegistryUnavailableError as error:
                self._notify_offline(str(error))
                return
            if behind >= last:
                brought.mark_processed(behind)
                self._counts.handled += last - first + 1
                return
        raise TidingsError(Code.OVERLOADED, "A chat's mark goes back again and again.")

    async def _retry_checkpoint(self, chat: ChatKey, first: int, handled: int) -> None:
        """What was handled has come again: perhaps because its mark was lost."""
        try:
            mark = await self._stores.checkpoints.advance(chat, first, handled)
            if mark < handled:
                await self._stores.checkpoints.advance(chat, mark + 1, handled)
        except RegistryUnavailableError as error:
            self._notify_offline(str(error))

    def _late(self, chat: ChatKey, run: EntryRun, *, is_tried: bool = True) -> None:
        self._memory.get(chat).defer(run[0].sequence, run[-1].sequence if is_tried else 0)
        self._counts.deferred += len(run)

    def _notify_offline(self, why: str) -> None:
        """Log at most once a minute: a part of Redis may be away while other batches get through."""
        now = asyncio.get_running_loop().time()
        if now >= self._quiet_until:
            self._quiet_until = now + _LOG_EVERY_S
            _log.warning("rows are written, some pushes come later: %s", why)


def group_by_chat(news: Iterable[ChatEntries]) -> dict[ChatKey, EntryRun]:
    """By chat, in order, none twice."""
    chats: dict[ChatKey, dict[int, Entry]] = {}
    for chat, entries in news:
        chats.setdefault(chat, {}).update((entry.sequence, entry) for entry in entries)
    return {chat: [those[n] for n in sorted(those)] for chat, those in chats.items()}
