"""The queue of a lane: proposals in the order in which they arrived."""

import asyncio
from collections import deque
from collections.abc import Iterator

from tidings.kernel.ids import UserId
from tidings.messages.log_view import NOBODY_WAITS
from tidings.messages.model import NOTHING_READ, Appended, PastKeySearch, Proposal, SideWritesFactory
from tidings.messages.rules import NeedsPastKeys

type AppendFuture = Appended | NeedsPastKeys | Exception


class QueuedAppend[S]:
    """A proposal in a lane, and how its sender hears of it."""

    __slots__ = ("answer", "is_confirmed", "is_fresh", "past", "proposal", "side_writes_at", "wake")

    def __init__(self, proposal: Proposal[S], beside_at: SideWritesFactory | None) -> None:
        self.proposal = proposal
        self.side_writes_at = beside_at
        self.is_fresh = False
        self.is_confirmed = False
        self.past: PastKeySearch = NOTHING_READ
        self.answer: AppendFuture | None = None
        self.wake: asyncio.Future[None] | None = None

    @property
    def needs_after(self) -> int:
        """Return the sequence above which the view must keep its keys for this proposal."""
        after = self.proposal.after
        if isinstance(self.answer, NeedsPastKeys):
            return self.answer.up_to
        return NOBODY_WAITS if after is None else max(after, self.past.up_to)

    @property
    def is_reading(self) -> bool:
        """Whether the sender reads the chat's past; the proposal keeps its place in the queue meanwhile."""
        return isinstance(self.answer, NeedsPastKeys)

    @property
    def is_keyed(self) -> bool:
        return self.proposal.after is None

    @property
    def is_alone(self) -> bool:
        """Whatever writes a second item goes alone."""
        return self.is_keyed or self.side_writes_at is not None

    def resolve(self, answer: AppendFuture) -> None:
        self.answer = answer
        if self.wake is not None and not self.wake.done():
            self.wake.set_result(None)


class AppendBacklog[S]:
    def __init__(self) -> None:
        self._waiting: deque[QueuedAppend[S]] = deque()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, waiting: QueuedAppend[S]) -> None:
        self._waiting.append(waiting)

    def discard(self, waiting: QueuedAppend[S]) -> None:
        if waiting in self._waiting:
            self._waiting.remove(waiting)

    def ready(self) -> Iterator[QueuedAppend[S]]:
        """Yield the proposals that may be judged: none that reads its past, and no later one of the same sender.

        A proposal that the caller finds to need its past holds back those behind it at once.
        """
        held: set[UserId] = set()
        for waiting in list(self._waiting):
            sender = waiting.proposal.draft.sender
            if sender in held:
                continue
            if not waiting.is_reading:
                yield waiting
            if waiting.is_reading:
                held.add(sender)

    @property
    def has_ready(self) -> bool:
        return next(self.ready(), None) is not None

    @property
    def has_sleeper(self) -> bool:
        """Whether a proposal may be judged whose sender waits for somebody to do so."""
        return any(waiting.wake for waiting in self.ready())

    @property
    def needed_after(self) -> int:
        return min((waiting.needs_after for waiting in self._waiting), default=NOBODY_WAITS)

    def unread(self) -> list[QueuedAppend[S]]:
        """Return all proposals but those that read their past: their senders go on with what they read."""
        return [waiting for waiting in self._waiting if not waiting.is_reading]
