"""Group commit: one lane per chat, at most one append in flight in it, those who wait go together.

Whoever finds the lane idle works it himself, turn by turn, until he has his answer; then he hands it on. A proposal
leaves the lane only with its answer, so a worker that is cancelled or fails leaves nothing half-done behind: the next
one judges it anew, against a log that tells whether it stands.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, Epoch
from tidings.messages.log_view import LogView
from tidings.messages.model import Appended, Entry, PastKeySearch, Proposal, Refusal, SideWritesFactory
from tidings.messages.past_keys import PastKeys
from tidings.messages.ports import (
    AppendCommitted,
    AppendOutcome,
    DuplicateKey,
    Log,
    MemberReader,
    PositionTaken,
)
from tidings.messages.queued_append import AppendBacklog, AppendFuture, QueuedAppend
from tidings.messages.rules import (
    ADMITTED,
    AppendDecision,
    ClientAhead,
    NeedsKeys,
    NeedsMemberStatus,
    NeedsPastKeys,
    NeedsRefresh,
    decide,
    find_repeat,
    make_entry,
    refusal_error,
)

if TYPE_CHECKING:
    from tidings.messages.model import IdempotencyKey

MAX_BATCH = 25
_log = logging.getLogger(__name__)


class OnCommit(Protocol):
    """Hears of entries once they are committed. Off the ack path: it must not wait, and it must not raise."""

    def __call__(self, chat: ChatKey, entries: Sequence[Entry], /) -> None: ...


class AppendDeps[S](NamedTuple):
    """What every lane of a process shares. `on_commit` misses what a process that died had committed last."""

    log: Log
    members: MemberReader[S]
    clock: Clock
    epoch: Epoch
    on_commit: OnCommit | None = None


class AppendQueue[S]:
    def __init__(self, chat: ChatKey, deps: AppendDeps[S], past: PastKeys) -> None:
        self.chat = chat
        self.counted = 0  # the weight that `Appender` has counted for this lane
        self.view: LogView[S] | None = None
        self.is_busy = False
        self._deps = deps
        self._past = past
        self._judged: QueuedAppend[S] | None = None
        self._queue: AppendBacklog[S] = AppendBacklog()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_idle(self) -> bool:
        return not self.is_busy and not self._queue

    async def append(self, proposal: Proposal[S], beside_at: SideWritesFactory | None) -> Appended:
        """Append the proposal after every earlier one of its sender in this lane."""
        waiting = QueuedAppend(proposal, beside_at)
        self._queue.add(waiting)
        try:
            answer = await self._answer(waiting)
            while isinstance(answer, NeedsPastKeys):
                # not in the lane's turn: the chat's other senders go on while this one reads its past
                past = await self._past.find(self.chat, proposal.draft.key, answer.after, answer.up_to)
                waiting.past = PastKeySearch(past.up_to, past.seen or waiting.past.seen)
                waiting.answer = waiting.wake = None
                answer = await self._answer(waiting)
        finally:
            self._leave(waiting)
        if isinstance(answer, Appended):
            return answer
        raise answer or AssertionError("a lane was left without an answer")

    async def _answer(self, waiting: QueuedAppend[S]) -> AppendFuture | None:
        if not self.is_busy:
            await self._work(waiting)
        if waiting.answer is None:
            waiting.wake = asyncio.get_running_loop().create_future()
            await waiting.wake
        return waiting.answer

    def _leave(self, waiting: QueuedAppend[S]) -> None:
        """Remove a proposal whose sender was cancelled or could not read its past, and free those behind it."""
        self._queue.discard(waiting)
        if not self.is_busy:
            self._hand_on()

    @property
    def weight(self) -> int:
        return 0 if self.view is None else self.view.weight

    def begin(self, first: Entry) -> None:
        """The first entry was just written by this process, so the view need not be read."""
        self.view = LogView(first)

    def observe(self, entry: Entry) -> None:
        """An entry that passed through this process moves the view, if it is the next one."""
        if self.view is not None and entry.sequence == self.view.head + 1:
            self.view.apply(entry)

    async def _work(self, mine: QueuedAppend[S]) -> None:
        self.is_busy = True
        try:
            while mine.answer is None and self._queue.has_ready:
                await self._turn()
        finally:
            self._hand_on()

    def _hand_on(self) -> None:
        self.is_busy = self._queue.has_sleeper
        if self.is_busy:
            self._task = asyncio.create_task(self._work_for_others())

    async def _work_for_others(self) -> None:
        try:
            while self._queue.has_ready:
                await self._turn()
        finally:
            self.is_busy = False

    async def _turn(self) -> None:
        """One step for the proposals at the front: answer them, learn what they need, or append them."""
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
            self._judged = None

    def _fail_all(self, error: Exception) -> None:
        """Raise an unforeseen error to the sender whose proposal caused it; if none did, to all as `internal`."""
        if self._judged is not None:
            self._resolve(self._judged, error)
            return
        _log.error("a turn of a chat's lane failed", exc_info=error)
        self._resolve_all(TidingsError(Code.INTERNAL, "Something is wrong with this chat's lane."))

    async def _fill(self) -> LogView[S] | None:
        """A cold view: the head first. What is read of the senders after it is then as of this head or later."""
        newest = await self._deps.log.newest(self.chat)
        if newest is not None:
            self.view = LogView(newest)
        return self.view

    async def _refuse_without_log(self) -> None:
        """Refuse what waits for a chat that does not exist, by the same write as for a stranger in one that does.

        Otherwise the time of the answer would show which chats exist. And a try of the same send that waits elsewhere
        could commit after the chat was created, although its sender was told that it is refused.
        """
        for waiting in list(self._queue.ready()):
            await self._refuse(waiting, refusal_error(Code.CHAT_NOT_FOUND))

    def _choose(
        self, view: LogView[S]
    ) -> tuple[list[QueuedAppend[S]], tuple[QueuedAppend[S], AppendDecision] | None]:
        """Those at the front that can go together, in the order they came; or the first that lacks something."""
        batch: list[QueuedAppend[S]] = []
        keys: set[IdempotencyKey] = set()
        for waiting in self._queue.ready():
            if len(batch) == MAX_BATCH or (batch and (waiting.is_alone or batch[0].is_alone)):
                break
            self._judged = waiting
            verdict = decide(view, keys, waiting.proposal, is_fresh=waiting.is_fresh, past=waiting.past)
            self._judged = None
            if self._settles(waiting, verdict):
                continue
            if verdict is not ADMITTED:
                return (batch, None) if batch else ([], (waiting, verdict))
            batch.append(waiting)
            keys.add(waiting.proposal.draft.key)
        return batch, None

    def _settles(self, waiting: QueuedAppend[S], verdict: AppendDecision) -> bool:
        match verdict:
            case Appended():
                self._resolve(waiting, verdict)
            case NeedsPastKeys():
                waiting.resolve(verdict)
            case Refusal(code) if not waiting.is_keyed or code is Code.IDEMPOTENCY_CONFLICT:
                self._resolve(waiting, refusal_error(code))
            case _:
                return False
        return True

    async def _learn(self, view: LogView[S], waiting: QueuedAppend[S], verdict: AppendDecision) -> None:
        match verdict:
            case ClientAhead() | NeedsRefresh():
                await self._follow(view)
                waiting.is_fresh = True
            case NeedsKeys(after):
                up_to = view.floor
                view.learn_keys(await self._deps.log.keys(self.chat, after, up_to), after)
            case NeedsMemberStatus():
                sender, asked_after = waiting.proposal.draft.sender, view.status_read_after
                standing = await self._deps.members.member_status(self.chat, sender)
                view.learn_status(sender, standing, asked_after)
            case Refusal(code):
                await self._refuse(waiting, refusal_error(code))
            case _:
                raise AssertionError(f"{verdict} at the front of a lane")

    async def _refuse(self, waiting: QueuedAppend[S], error: TidingsError) -> None:
        """Who keeps no position may have got in before, or may yet by a try that waits elsewhere.

        So the refusal is put where the key's answer stands, unless one stands there already.
        """
        draft = waiting.proposal.draft
        if waiting.is_keyed and error.code is not Code.IDEMPOTENCY_CONFLICT:
            found = await self._deps.log.refuse_key(self.chat, draft, error.code)
            if found is not None:
                self._resolve_repeat(
                    waiting, found if isinstance(found, Refusal) else find_repeat(found, draft)
                )
                return
        self._resolve(waiting, error)

    async def _refuse_change(self, view: LogView[S], waiting: QueuedAppend[S], error: TidingsError) -> None:
        """A row was read that refuses it; perhaps because of an earlier try, which then stands in the log."""
        if waiting.is_confirmed:
            await self._refuse(waiting, error)
        else:
            await self._follow(view)
            waiting.is_confirmed = True

    async def _commit(self, view: LogView[S], batch: list[QueuedAppend[S]]) -> None:
        entries = self._make_entries(view, batch)
        self._judged = first = batch[0]
        try:
            beside = first.side_writes_at and first.side_writes_at(entries[0].sequence)
        except TidingsError as error:
            await self._refuse_change(view, first, error)
            return
        self._judged = None
        try:
            outcome = await self._deps.log.append(self.chat, entries, beside, is_keyed=first.is_keyed)
        except TidingsError as error:
            for waiting in batch:
                self._resolve(waiting, error)
            return
        await self._take(view, batch, entries, outcome)

    async def _take(
        self, view: LogView[S], batch: list[QueuedAppend[S]], entries: list[Entry], outcome: AppendOutcome
    ) -> None:
        match outcome:
            case AppendCommitted():
                for waiting, entry in zip(batch, entries, strict=True):
                    view.apply(entry)
                    self._resolve(waiting, Appended(entry.sequence, is_repeat=False))
                self._notify_commit(entries)
            case PositionTaken(there):
                if there is not None and there.sequence == view.head + 1:
                    view.apply(there)
                    if there.key == batch[0].proposal.draft.key:
                        # ours, from a try that was not answered: nobody has been told of it
                        self._notify_commit([there])
                await self._follow(view)
            case DuplicateKey(found):
                draft = batch[0].proposal.draft
                self._resolve_repeat(
                    batch[0], found if isinstance(found, Refusal) else find_repeat(found, draft)
                )
            case _:
                self._resolve(batch[0], refusal_error(Code.WRITE_CONFLICT))

    def _notify_commit(self, entries: Sequence[Entry]) -> None:
        if self._deps.on_commit is not None:
            self._deps.on_commit(self.chat, entries)

    def _make_entries(self, view: LogView[S], batch: list[QueuedAppend[S]]) -> list[Entry]:
        """Sealed for the place they get: at another place the content is sealed anew."""
        world, now_ms, ordinal = self._deps, self._deps.clock.now_ms(), view.ordinal
        entries: list[Entry] = []
        for sequence, waiting in enumerate(batch, view.head + 1):
            self._judged, proposal = waiting, waiting.proposal
            content = proposal.sealed_for(self.chat, sequence)
            entry = make_entry(
                proposal.draft, sequence, ordinal, now_ms=now_ms, content=content, epoch=world.epoch()
            )
            ordinal = entry.ordinal
            entries.append(entry)
        return entries

    async def _follow(self, view: LogView[S]) -> None:
        has_more = True
        while has_more:
            entries, has_more = await self._deps.log.follow(self.chat, view.head)
            for entry in entries:
                view.apply(entry)
        view.is_at_head()

    def _resolve_repeat(self, waiting: QueuedAppend[S], repeat: Appended | Refusal) -> None:
        self._resolve(waiting, refusal_error(repeat.code) if isinstance(repeat, Refusal) else repeat)

    def _resolve(self, waiting: QueuedAppend[S], answer: Appended | Exception) -> None:
        self._queue.discard(waiting)  # not there if its sender was cancelled while it was under way
        waiting.resolve(answer)

    def _resolve_all(self, error: TidingsError) -> None:
        for waiting in self._queue.unread():
            self._resolve(waiting, error)
