"""The delivery worker: the steps after a commit, in the order that the delivery guarantees depend on.

1. Read unprocessed entries before an entry from the log and process them first. 2. Write chat rows, then the head of a
group, and withdraw redacted messages. 3. Look up routes and push. 4. In direct chats, queue messages for users without a
route, look up again, and signal gateways that appeared meanwhile. 5. Advance the delivery checkpoint. The caller commits
its Kafka offset after that. Every step is idempotent, so a batch may be processed any number of times.

Redis may answer for some keys and not for others. A chat is deferred if a shard of one of its users, gateways or channels
does not answer: its rows are written, reachable devices receive the push, and its checkpoint does not advance. Other
chats continue, and the partition does not wait. Deferred entries are processed again with the chat's next entry or when
the relay republishes them; gateways that lost their subscription resume their devices.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from tidings.connections.model import LookupResult
from tidings.delivery import fanout_plan, rules
from tidings.delivery.audience import CachedAudience
from tidings.delivery.backlog import BacklogReader
from tidings.delivery.chat_rows import ChatRowProjector
from tidings.delivery.fanout import DeferredChats, Fanout
from tidings.delivery.fanout_plan import FanoutPlan
from tidings.delivery.model import DeliveryStats
from tidings.delivery.offline import OfflineQueueRedactor
from tidings.delivery.ports import DeliveryCheckpoints
from tidings.delivery.progress import ProgressCache
from tidings.delivery.rules import EntryRun
from tidings.kernel.concurrency import gather_limited, gather_results
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.kernel.failpoints import Failpoints
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.model import Entry
from tidings.messages.ports import LogReader

_log = logging.getLogger(__name__)

MAX_CONCURRENT_CHATS = 32
_CHECKPOINT_ATTEMPTS = 5
_STORE_ATTEMPTS = 4
_ROW_ATTEMPTS = 3
_LOG_EVERY_S = 60.0

type ChatEntries = tuple[ChatKey, Sequence[Entry]]
"""Committed entries of one chat, as an event contains them."""


class _WrittenRows(NamedTuple):
    """A run whose rows are written. Everything from `first` to `last` may be checkpointed after the push.

    is_retry: whether all deferred entries before the run were tried again.
    """

    plans: tuple[FanoutPlan, ...]
    first: int
    last: int
    is_retry: bool = True

    @property
    def chat(self) -> ChatKey:
        return self.plans[0].chat


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerDeps:
    rows: ChatRowProjector
    audience: CachedAudience
    log: LogReader
    redactor: OfflineQueueRedactor
    checkpoints: DeliveryCheckpoints
    fanout: Fanout


class DeliveryWorker:
    """Processes at most one batch of a chat at a time: the events of a chat are in one Kafka partition."""

    def __init__(
        self,
        deps: WorkerDeps,
        *,
        stats: DeliveryStats,
        failpoints: Failpoints,
        progress: ProgressCache | None = None,
    ) -> None:
        self._deps = deps
        self._stats = stats
        self._failpoints = failpoints
        self._progress = progress or ProgressCache()
        self._quiet_until = float("-inf")
        self._processed_chats = 0
        self._backlog = BacklogReader(deps.log, stats)

    async def handle(self, events: Iterable[ChatEntries]) -> None:
        """Process events. If chats fail, the others are still done; then raise the first error."""
        for error in (await self.process(events)).values():
            raise error

    async def process(self, events: Iterable[ChatEntries]) -> Mapping[ChatKey, BaseException]:
        """Process chats concurrently. Return the chats that failed and must be processed again; the others are done.

        A chat that a store refuses several times while other chats succeed is deferred instead, so that one throttled
        user or chat does not stop its partition. Its checkpoint does not advance, so the relay republishes it.
        """
        # Race: the relay republishes entries while the gateways' events of the same entries are still in the topic. Both
        # are in the chat's partition, so they are processed one after the other, and the second is a repeat.
        chats = group_by_chat(events)
        checkpoints = await self._read_checkpoints(chats)
        started = await gather_results(
            (self._write_chat(chat, entries, checkpoints) for chat, entries in chats.items()),
            MAX_CONCURRENT_CHATS,
        )
        failed = {c: each for c, each in zip(chats, started, strict=True) if isinstance(each, BaseException)}
        failed |= await self._finish([each for each in started if isinstance(each, _WrittenRows)])
        self._processed_chats += len(chats) - len(failed)
        return {
            chat: error for chat, error in failed.items() if not self._defer_refused(chat, chats[chat], error)
        }

    def _defer_refused(self, chat: ChatKey, run: EntryRun, error: BaseException) -> bool:
        """Defer a chat that was refused too often. Return False to retry it: also while no other chat succeeds."""
        progress = self._progress.get(chat)
        if not isinstance(error, TidingsError) or not error.retryable:
            return False
        if not progress.consecutive_refusals:
            progress.chats_processed_before = self._processed_chats
        progress.consecutive_refusals += 1
        is_store_down = self._processed_chats == progress.chats_processed_before
        if progress.consecutive_refusals < _STORE_ATTEMPTS or is_store_down:
            return False
        progress.consecutive_refusals = 0
        self._defer(chat, run[0].sequence, run[-1].sequence)
        return True

    async def _read_checkpoints(self, chats: Mapping[ChatKey, EntryRun]) -> LookupResult[ChatKey, int]:
        """Read the checkpoints of chats that another worker may have advanced beyond this worker's progress."""
        # Race: the partition moves to another worker and back. Progress that adjoins the run has no gap, and the
        # entries that the other worker has processed are repeated. For a gap, that worker's checkpoint counts.
        asked = [chat for chat, run in chats.items() if not self._progress.get(chat).covers(run[0].sequence)]
        return await self._deps.checkpoints.read(asked) if asked else LookupResult({})

    async def _write_chat(
        self, chat: ChatKey, entries: EntryRun, checkpoints: LookupResult[ChatKey, int]
    ) -> _WrittenRows | None:
        """Do steps 1 and 2. Return None if nothing is left to do, or all pushes must wait for Redis."""
        progress = self._progress.get(chat)
        progress.mark_processed(checkpoints.found.get(chat, 0))
        has_answer = chat not in checkpoints.unknown
        fresh = [entry for entry in entries if entry.sequence > progress.processed]
        if not fresh:
            self._stats.repeated += len(entries)
            await self._restore_checkpoint(chat, entries[0].sequence, progress.processed)
            return None
        if progress.is_unknown and has_answer:
            fresh = [*await self._backlog.left_by_previous_worker(chat, fresh[0]), *fresh]
        # Checkpoint unknown: earlier entries may be unpushed, so pushing these would reorder them. During a long
        # outage, retrying the whole backlog with each entry would cost too much: the relay republishes it in pages.
        is_known = progress.covers(fresh[0].sequence) or (
            has_answer and not progress.is_retry_too_large(fresh[0].sequence)
        )
        at = progress.start_after(fresh[0].sequence, checkpoint_known=is_known)
        if has_answer and not is_known:
            at = min(at, progress.short_backlog_after(fresh[0].sequence))
        if progress.first_deferred:
            fresh = [*await self._backlog.deferred(chat, at, fresh[0].sequence), *fresh]
        *earlier, run = rules.split_runs(fresh)
        is_pushed = await self._fill_gaps(chat, at, [*earlier, run], is_pushed=is_known)
        await self._failpoints.hit("worker.gap_filled")
        unwritten = [entry for entry in run if entry.sequence > progress.rows_written]
        first = await self._write_rows(chat, unwritten) if unwritten else run[0].sequence
        progress.mark_rows_written(run[-1].sequence)
        await self._failpoints.hit("worker.rows_written")
        if first is not None and is_pushed:
            return _WrittenRows(await self._plans(chat, run), min(first, at + 1), run[-1].sequence)
        if has_answer and progress.has_reached_others(run[0].sequence):
            plans = await self._plans(chat, run)
            if progress.reached is not None:
                return _WrittenRows(plans, run[0].sequence, run[-1].sequence, is_known)
        self._defer(chat, run[0].sequence, run[-1].sequence, is_retry=is_known)
        return None

    async def _fill_gaps(self, chat: ChatKey, at: int, runs: Sequence[EntryRun], *, is_pushed: bool) -> bool:
        """Do step 1: process everything before the last run. Return whether it and the entries up to `at` were pushed."""
        for run in runs:
            if at + 1 < run[0].sequence:
                is_pushed = await self._process_from_log(chat, at, run[0].sequence - 1, is_pushed=is_pushed)
            if run is not runs[-1]:
                is_pushed = await self._process_run(chat, run, is_pushed=is_pushed)
            at = run[-1].sequence
        return is_pushed

    async def _process_from_log(
        self, chat: ChatKey, after: int, up_to: int, *, is_pushed: bool = True
    ) -> bool:
        while after < up_to and (entries := await self._deps.log.between(chat, after, up_to)):
            self._stats.backfilled += len(entries)
            is_pushed = await self._process_run(chat, entries, is_pushed=is_pushed)
            after = entries[-1].sequence
        return is_pushed

    async def _process_run(self, chat: ChatKey, run: EntryRun, *, is_pushed: bool) -> bool:
        """Do steps 2 to 4 for an earlier run. Return whether it and the entries before it, `is_pushed`, were pushed."""
        first, last = run[0].sequence, run[-1].sequence
        if await self._write_rows(chat, run) is None:
            self._defer(chat, first, last, is_retry=is_pushed)
            return False
        deferred = await self._push(await self._plans(chat, run))
        if chat not in deferred.chats:
            if self._progress.get(chat).reached is not None:
                self._progress.mark_reached(chat, first, last, frozenset())
            return is_pushed
        self._defer(chat, first, last, is_retry=is_pushed, missed_by=deferred.missed_by.get(chat))
        return False

    async def _write_rows(self, chat: ChatKey, run: EntryRun) -> int | None:
        """Do step 2. Return the sequence from which everything up to the run is processed; None if deferred."""
        # Race: a gateway resumes a device while this worker delivers. The gateway registers the route, then reads rows
        # and heads; the worker writes both, then looks up routes. So either the gateway reads the new position, or the
        # worker finds the route. Rows and heads must therefore be written before the look-up.
        self._deps.audience.follow(chat, run)
        first, is_pushed = run[0].sequence, True
        # Race: a sender commits an entry and dies before it publishes it; another sender commits and publishes the next
        # one. Rows and heads are not raised over the gap, which is processed first; then the run is written again.
        for _ in range(_ROW_ATTEMPTS):
            missed = await self._deps.rows.handle(chat, run)
            if missed is None:
                await self._deps.redactor.redact(chat, run)
                return first if is_pushed else None
            first = min(first, missed.after + 1)
            is_pushed &= await self._process_from_log(chat, *missed)
        raise TidingsError(Code.OVERLOADED, f"The log lacks entries before {run[0].sequence}. Retry.")

    async def _plans(self, chat: ChatKey, run: EntryRun) -> tuple[FanoutPlan, ...]:
        """Plan the fan-out of a run: two plans if the chat becomes large in it.

        All members receive the entries up to and including that one by their routes. Members who lack entries before
        the run are left out.
        """
        audience = await self._deps.audience.of(chat, run[-1].sequence)
        since, progress = audience.large_since, self._progress.get(chat)
        if since is not None and progress.backlog_start <= since:
            # Entries of a backlog that began before the chat was large go first: one may remove a member who subscribes.
            progress.reached = None
        # Race: a Redis shard recovers after the look-up of the deferred entries and before that of this run. A device
        # without a position in the chat would receive this run first, and never the earlier entries.
        reached = progress.reached_from(run[0].sequence)
        left_out = reached.lacking_before(run[0].sequence) if reached else frozenset[UserId]()
        if since is None:
            return (fanout_plan.plan_small(chat, run, audience.members, reached=reached, left_out=left_out),)
        small = [entry for entry in run if entry.sequence <= since]
        large = run[len(small) :]
        plans = (fanout_plan.plan_large(chat, large, reached=reached, left_out=left_out),) if large else ()
        if not small:
            return plans
        members = await self._deps.audience.everyone(chat)
        becomes_large = small[-1].sequence == since
        return fanout_plan.plan_small(chat, small, members, becomes_large=becomes_large), *plans

    async def _push(self, plans: Sequence[FanoutPlan]) -> DeferredChats:
        """Do steps 3 and 4. Return the chats that are deferred."""
        deferred = await self._deps.fanout.deliver(plans)
        for chat in deferred.chats - deferred.missed_by.keys():
            self._progress.get(chat).reached = None
        if deferred.chats:
            self._log_deferred(deferred.reason)
        return deferred

    async def _finish(self, written: Sequence[_WrittenRows]) -> Mapping[ChatKey, TidingsError]:
        """Do steps 3 to 5. Return the chats whose messages could not be put into an offline queue."""
        if not written:
            return {}
        deferred = await self._push([plan for each in written for plan in each.plans])
        for each in written:
            if each.chat in deferred.chats:
                missed_by = deferred.missed_by.get(each.chat)
                self._defer(each.chat, each.first, each.last, is_retry=each.is_retry, missed_by=missed_by)
        # Race: the worker dies between the pushes and the checkpoint, and another worker takes over the partition. It
        # pushes the entries again, and devices ignore them. In the other order, the entries would be lost.
        await gather_limited(
            (self._checkpoint(each) for each in written if each.chat not in deferred.chats),
            MAX_CONCURRENT_CHATS,
        )
        await self._failpoints.hit("worker.marked")
        return deferred.failed

    async def _checkpoint(self, run: _WrittenRows) -> None:
        """Do step 5. If the checkpoint is behind `first`, process the entries in between, then advance it."""
        # Race: the previous worker of the partition died, or deferred, before entries below `first` were pushed, and
        # this worker has pushed the run. Push them again together with the run: a user who joined and left in between
        # starts with the earlier entries and must receive the leave too.
        progress, (first, last) = self._progress.get(run.chat), (run.first, run.last)
        processed = progress.processed_before(first)
        for _ in range(_CHECKPOINT_ATTEMPTS):
            if processed < first - 1 and not await self._process_from_log(run.chat, processed, last):
                return
            first = processed + 1
            try:
                processed = await self._deps.checkpoints.advance(run.chat, first, last)
            except UnavailableError as error:
                self._log_deferred(str(error))
                return
            if processed >= last:
                progress.mark_processed(processed)
                self._stats.handled += last - first + 1
                return
        raise TidingsError(Code.OVERLOADED, "The delivery checkpoint of a chat moves back repeatedly.")

    async def _restore_checkpoint(self, chat: ChatKey, first: int, processed: int) -> None:
        """Write the checkpoint of processed entries that were received again: Redis may have lost it."""
        # Race: the relay finds no checkpoint after Redis lost its data and republishes entries that this worker has
        # processed. Without a new checkpoint, the relay would republish them again and again.
        try:
            checkpoint = await self._deps.checkpoints.advance(chat, first, processed)
            if checkpoint < processed:
                await self._deps.checkpoints.advance(chat, checkpoint + 1, processed)
        except UnavailableError as error:
            self._log_deferred(str(error))

    def _defer(
        self,
        chat: ChatKey,
        first: int,
        last: int,
        *,
        is_retry: bool = True,
        missed_by: AbstractSet[UserId] | None = None,
    ) -> None:
        """Defer entries. missed_by: the users who were not reached, if all others have received the entries."""
        self._progress.get(chat).defer(first, last if is_retry else 0)
        if missed_by is not None:
            self._progress.mark_reached(chat, first, last, missed_by)
        self._stats.deferred += last - first + 1

    def _log_deferred(self, reason: str) -> None:
        """Log at most once a minute: one part of Redis may be unavailable for many batches."""
        now = asyncio.get_running_loop().time()
        if now >= self._quiet_until:
            self._quiet_until = now + _LOG_EVERY_S
            _log.warning("pushes deferred, rows are written: %s", reason)


def group_by_chat(events: Iterable[ChatEntries]) -> dict[ChatKey, EntryRun]:
    """Return the entries of each chat in order and without duplicates."""
    chats: dict[ChatKey, dict[int, Entry]] = {}
    for chat, entries in events:
        chats.setdefault(chat, {}).update((entry.sequence, entry) for entry in entries)
    return {chat: [found[n] for n in sorted(found)] for chat, found in chats.items()}
