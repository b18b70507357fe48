"""Group commit. Each chat has one append queue with at most one append in flight.

Proposals that arrive meanwhile form the next batch. The caller that finds the queue idle drives it until its own
proposal is settled; then a task takes over if other senders wait. A proposal leaves the queue only with its result. If
the driver is cancelled or fails, the next driver decides on the proposal again, and the log shows whether it was
appended.
"""

import asyncio
import logging
from collections.abc import Sequence

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey
from tidings.messages import rules
from tidings.messages.model import (
    Appended,
    Entry,
    IdempotencyKey,
    KeyRecord,
    PastKeySearch,
    Proposal,
    Refusal,
    SideWritesFactory,
)
from tidings.messages.past_keys import PastKeys
from tidings.messages.ports import AppendDeps, AppendOutcome, AppendStatus, DuplicateKey, PositionTaken
from tidings.messages.queued_append import AppendBacklog, AppendResult, QueuedAppend
from tidings.messages.rules import LogView

MAX_BATCH = 25
_log = logging.getLogger(__name__)


class AppendQueue[S]:
    """The append queue of one chat. A process has at most one per chat."""

    def __init__(self, chat: ChatKey, deps: AppendDeps[S], past: PastKeys) -> None:
        self.chat = chat
        self.counted = 0  # the weight that `Appender` has added up for this queue
        self.view: LogView[S] | None = None
        self.is_busy = False
        self._deps = deps
        self._past = past
        self._current: QueuedAppend[S] | None = None  # receives an unexpected error
        self._queue: AppendBacklog[S] = AppendBacklog()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_idle(self) -> bool:
        return not self.is_busy and not self._queue

    @property
    def weight(self) -> int:
        return 0 if self.view is None else self.view.weight

    async def append(self, proposal: Proposal[S], side_writes_at: SideWritesFactory | None) -> Appended:
        """Append the proposal after all earlier ones of its sender in this queue."""
        waiting = QueuedAppend(proposal, side_writes_at)
        self._queue.add(waiting)
        try:
            result = await self._result(waiting)
            while isinstance(result, rules.NeedsPastKeys):
                # Read outside the queue's turn, so that other senders of the chat do not wait for this read.
                past = await self._past.find(self.chat, proposal.draft.key, result.after, result.up_to)
                waiting.past = PastKeySearch(past.up_to, past.seen or waiting.past.seen)
                waiting.result = waiting.wake = None
                result = await self._result(waiting)
        finally:
            self._leave(waiting)
        if isinstance(result, Appended):
            return result
        raise result or AssertionError("an append queue stopped without a result")

    async def _result(self, waiting: QueuedAppend[S]) -> AppendResult | None:
        if not self.is_busy:
            await self._drive(waiting)
        if waiting.result is None:
            waiting.wake = asyncio.get_running_loop().create_future()
            await waiting.wake
        return waiting.result

    def _leave(self, waiting: QueuedAppend[S]) -> None:
        """Remove a proposal whose sender was cancelled or could not read past keys; unblock those behind it."""
        self._queue.discard(waiting)
        if not self.is_busy:
            self._hand_over()

    def begin(self, first: Entry) -> None:
        """Start the view at the first entry, which this process has just written."""
        self.view = LogView(first)

    def observe(self, entry: Entry) -> None:
        """Advance the view by an entry that this process received, if it is the next one."""
        if self.view is not None and entry.sequence == self.view.head + 1:
            self.view.apply(entry)

    async def _drive(self, own: QueuedAppend[S]) -> None:
        self.is_busy = True
        try:
            while own.result is None and self._queue.has_ready:
                await self._turn()
        finally:
            # Also after a cancellation: senders that sleep must not wait for a driver that has stopped.
            self._hand_over()

    def _hand_over(self) -> None:
        self.is_busy = self._queue.has_sleeper
        if self.is_busy:
            self._task = asyncio.create_task(self._drive_for_others())

    async def _drive_for_others(self) -> None:
        try:
            while self._queue.has_ready:
                await self._turn()
        finally:
            self.is_busy = False

    async def _turn(self) -> None:
        """Advance the proposals at the front by one step: settle them, read what they need, or append them."""
        try:
            view = self.view or await self._fill()
            if view is None:
                await self._refuse_without_log()
                return
            view.needed_after = self._queue.needed_after
            batch, in_need = self._choose(view)
            if batch:
                await self._commit(view, batch)
            elif in_need:
                await self._learn(view, *in_need)
        except TidingsError as error:
            self._resolve_all(error)
        except Exception as error:  # noqa: BLE001 - a defect of one proposal must not reach the others' senders
            self._fail_all(error)
        finally:
            self._current = None

    def _fail_all(self, error: Exception) -> None:
        """Raise an unexpected error to the sender whose proposal caused it; if unknown, `internal` to all."""
        if self._current is not None:
            self._resolve(self._current, error)
            return
        _log.error("append queue failed", exc_info=error)
        self._resolve_all(TidingsError(Code.INTERNAL, "Internal error while appending to this chat."))

    async def _fill(self) -> LogView[S] | None:
        """Create the view at the present head; None if the chat does not exist."""
        # Race: an admin removes the sender while this process fills its view. The head is read before any member
        # status, so a status that is older than a leave implies a head below the leave, and the put at head + 1 fails.
        newest = await self._deps.log.newest(self.chat)
        if newest is not None:
            self.view = LogView(newest)
        return self.view

    async def _refuse_without_log(self) -> None:
        """Refuse all proposals for a chat that does not exist, by the same write as for a stranger in a chat."""
        # Without the write, the response time would show which chats exist.
        # Race: this process refuses one attempt of a send, then another user creates the chat, then another attempt
        # of the same send, which waited in another process, commits although its sender has received a refusal. The
        # stored refusal makes the second attempt fail.
        for waiting in list(self._queue.ready()):
            await self._refuse(waiting, rules.refusal_error(Code.CHAT_NOT_FOUND))

    def _choose(
        self, view: LogView[S]
    ) -> tuple[list[QueuedAppend[S]], tuple[QueuedAppend[S], rules.AppendDecision] | None]:
        """Return the next batch in order of arrival, or the first proposal that needs a read, with the reason."""
        batch: list[QueuedAppend[S]] = []
        keys: set[IdempotencyKey] = set()
        now_ms, is_slow = self._deps.clock.now_ms(), view.rules.slow_mode_s > 0
        for waiting in self._queue.ready():
            is_alone = waiting.is_alone(is_slow=is_slow) or (batch and batch[0].is_alone(is_slow=is_slow))
            if len(batch) == MAX_BATCH or (batch and is_alone):
                break
            self._current = waiting
            decision = rules.decide(
                view, keys, waiting.proposal, is_fresh=waiting.is_fresh, past=waiting.past, now_ms=now_ms
            )
            self._current = None
            if self._settle(waiting, decision):
                continue
            if decision is not rules.NextStep.APPEND:
                return (batch, None) if batch else ([], (waiting, decision))
            batch.append(waiting)
            keys.add(waiting.proposal.draft.key)
        return batch, None

    def _settle(self, waiting: QueuedAppend[S], decision: rules.AppendDecision) -> bool:
        """Resolve the proposal if the decision is final. Return whether it was."""
        match decision:
            case Appended():
                self._resolve(waiting, decision)
            case rules.NeedsPastKeys():
                waiting.resolve(decision)
            case Refusal(code, wait_ms) if not waiting.is_keyed or code is Code.IDEMPOTENCY_CONFLICT:
                self._resolve(waiting, rules.refusal_error(code, wait_ms))
            case _:
                return False
        return True

    async def _learn(
        self, view: LogView[S], waiting: QueuedAppend[S], decision: rules.AppendDecision
    ) -> None:
        match decision:
            case rules.NextStep.REFRESH_VIEW:
                await self._follow(view)
                waiting.is_fresh = True
            case rules.NeedsKeys(after):
                up_to = view.floor
                view.learn_keys(await self._deps.log.keys(self.chat, after, up_to), after)
            case rules.NextStep.READ_MEMBER_STATUS:
                sender, asked_after = waiting.proposal.draft.sender, view.status_read_after
                status = await self._deps.member_status(self.chat, sender)
                view.learn_status(sender, status, asked_after)
            case Refusal(code, None):
                await self._refuse(waiting, rules.refusal_error(code))
            case Refusal(code, wait_ms):
                await self._delay(waiting, rules.refusal_error(code, wait_ms))
            case _:
                raise AssertionError(f"{decision} at the front of an append queue")

    async def _refuse(self, waiting: QueuedAppend[S], error: TidingsError) -> None:
        """Refuse a proposal. If it has no position, store the refusal in its idempotency row first."""
        # Race: another attempt of the same message, in this or another process, was appended earlier or is about to
        # be. The row decides: if it already has a result, the sender receives that result; if not, the stored
        # refusal makes the other attempt fail.
        if waiting.is_keyed and error.code is not Code.IDEMPOTENCY_CONFLICT:
            found = await self._deps.log.refuse_key(self.chat, waiting.proposal.draft, error.code)
            if found is not None:
                self._resolve_existing(waiting, found)
                return
        self._resolve(waiting, error)

    async def _delay(self, waiting: QueuedAppend[S], error: TidingsError) -> None:
        """Refuse a proposal without a position for now. Nothing is stored, because a later attempt is allowed."""
        # Race: the message was appended and its ack was lost. In a chat with slow mode it is the reason of the delay
        # itself, so look for its key first: the sender receives the sequence.
        found = await self._deps.log.find_key(self.chat, waiting.proposal.draft.key)
        if found is None:
            self._resolve(waiting, error)
        else:
            self._resolve_existing(waiting, found)

    async def _refuse_change(self, view: LogView[S], waiting: QueuedAppend[S], error: TidingsError) -> None:
        """Refuse a change because of the row that it would write, after the log was read to its head."""
        # Race: an earlier attempt of this change committed without an answer, and the retry reads the row as changed
        # by that attempt ("already redacted"). The log contains the change then: read it, so that the sender receives the
        # sequence instead of a refusal.
        if waiting.is_confirmed:
            await self._refuse(waiting, error)
        else:
            await self._follow(view)
            waiting.is_confirmed = True

    async def _commit(self, view: LogView[S], batch: list[QueuedAppend[S]]) -> None:
        entries = self._make_entries(view, batch)
        self._current = first = batch[0]
        try:
            side_writes = first.side_writes_at and first.side_writes_at(entries[0].sequence)
            if view.rules.slow_mode_s and first.proposal.paced is not None:
                side_writes = first.proposal.paced(side_writes, entries[0].created_at_ms)
        except TidingsError as error:
            await self._refuse_change(view, first, error)
            return
        self._current = None
        # If the caller is cancelled here, DynamoDB may still apply the append. The proposal leaves the queue without
        # a result; a retry with the same key finds the entry in the log.
        try:
            outcome = await self._deps.log.append(self.chat, entries, side_writes, is_keyed=first.is_keyed)
        except TidingsError as error:
            for waiting in batch:
                self._resolve(waiting, error)
            return
        await self._on_outcome(view, batch, entries, outcome)

    async def _on_outcome(
        self, view: LogView[S], batch: list[QueuedAppend[S]], entries: list[Entry], outcome: AppendOutcome
    ) -> None:
        match outcome:
            case AppendStatus.COMMITTED:
                for waiting, entry in zip(batch, entries, strict=True):
                    view.apply(entry)
                    self._resolve(waiting, Appended(entry.sequence, is_repeat=False))
                self._notify_commit(entries)
            case PositionTaken(found):
                # Race: another process appended at this sequence first. Follow the log, then rules.decide again.
                if found is not None and found.sequence == view.head + 1:
                    view.apply(found)
                    if found.key == batch[0].proposal.draft.key:
                        # Our own earlier attempt was committed but not answered, so it was never published.
                        self._notify_commit([found])
                await self._follow(view)
            case DuplicateKey(found):
                self._resolve_existing(batch[0], found)
            case _:
                self._resolve(batch[0], rules.refusal_error(Code.WRITE_CONFLICT))

    def _notify_commit(self, entries: Sequence[Entry]) -> None:
        if self._deps.on_commit is not None:
            self._deps.on_commit(self.chat, entries)

    def _make_entries(self, view: LogView[S], batch: list[QueuedAppend[S]]) -> list[Entry]:
        """Return the batch as entries after the view's head. Content is encrypted for its sequence, so never reused."""
        deps, now_ms, ordinal = self._deps, self._deps.clock.now_ms(), view.ordinal
        entries: list[Entry] = []
        for sequence, waiting in enumerate(batch, view.head + 1):
            self._current, proposal = waiting, waiting.proposal
            content = proposal.encrypted_body(self.chat, sequence)
            entry = rules.make_entry(
                proposal.draft,
                sequence,
                ordinal,
                now_ms=now_ms,
                content=content,
                epoch=deps.epoch(),
                rules_before=view.rules,
            )
            ordinal = entry.ordinal
            entries.append(entry)
        return entries

    # Race: other processes append to the same chat at any time. The view advances only by reads that are dense from its
    # head on, so it never skips an entry that might contain the key of a queued proposal or a leave of its sender.
    async def _follow(self, view: LogView[S]) -> None:
        has_more = True
        while has_more:
            entries, has_more = await self._deps.log.follow(self.chat, view.head)
            for entry in entries:
                view.apply(entry)
        view.mark_at_head()

    def _resolve_existing(self, waiting: QueuedAppend[S], found: KeyRecord | Refusal) -> None:
        """Resolve with the result that the proposal's key already has."""
        repeat = found if isinstance(found, Refusal) else rules.find_repeat(found, waiting.proposal.draft)
        self._resolve(waiting, rules.refusal_error(repeat.code) if isinstance(repeat, Refusal) else repeat)

    def _resolve(self, waiting: QueuedAppend[S], result: Appended | Exception) -> None:
        self._queue.discard(waiting)  # already removed if its sender was cancelled during the append
        waiting.resolve(result)

    def _resolve_all(self, error: TidingsError) -> None:
        for waiting in self._queue.not_reading():
            self._resolve(waiting, error)
