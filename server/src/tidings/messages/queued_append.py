"""The proposals that wait in a chat's append queue, in order of arrival."""

import asyncio
from collections import deque
from collections.abc import Iterator

from tidings.kernel.ids import UserId
from tidings.messages.model import NOTHING_READ, Appended, PastKeySearch, Proposal, SideWritesFactory
from tidings.messages.rules import NOBODY_WAITS, NeedsPastKeys

type AppendResult = Appended | NeedsPastKeys | Exception


class QueuedAppend[S]:
    """A proposal, its state in the queue, and the future that its sender waits on."""

    __slots__ = ("is_confirmed", "is_fresh", "past", "proposal", "result", "side_writes_at", "wake")

    def __init__(self, proposal: Proposal[S], side_writes_at: SideWritesFactory | None) -> None:
        self.proposal = proposal
        self.side_writes_at = side_writes_at
        self.is_fresh = False
        self.is_confirmed = False
        self.past: PastKeySearch = NOTHING_READ
        self.result: AppendResult | None = None
        self.wake: asyncio.Future[None] | None = None

    @property
    def needs_after(self) -> int:
        """Return the sequence above which the view must keep its keys for this proposal."""
        after = self.proposal.after
        if isinstance(self.result, NeedsPastKeys):
            return self.result.up_to
        return NOBODY_WAITS if after is None else max(after, self.past.up_to)

    @property
    def is_reading(self) -> bool:
        """Whether the sender reads past keys; the proposal keeps its place in the queue meanwhile."""
        return isinstance(self.result, NeedsPastKeys)

    @property
    def is_keyed(self) -> bool:
        return self.proposal.after is None

    def is_alone(self, *, is_slow: bool) -> bool:
        """Return whether the proposal writes a second item: then its transaction contains no other proposal."""
        is_paced = is_slow and self.proposal.paced is not None
        return self.is_keyed or self.side_writes_at is not None or is_paced

    def resolve(self, result: AppendResult) -> None:
        self.result = result
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
        """Yield the proposals to decide on: none that reads past keys, and no later one of the same sender.

        If the caller sets a yielded proposal to read past keys, later ones of its sender are skipped at once.
        """
        blocked: set[UserId] = set()
        for waiting in list(self._waiting):
            sender = waiting.proposal.draft.sender
            if sender in blocked:
                continue
            if not waiting.is_reading:
                yield waiting
            if waiting.is_reading:
                blocked.add(sender)

    @property
    def has_ready(self) -> bool:
        return next(self.ready(), None) is not None

    @property
    def has_sleeper(self) -> bool:
        """Whether a proposal is ready whose sender sleeps until another task drives the queue."""
        return any(waiting.wake for waiting in self.ready())

    @property
    def needed_after(self) -> int:
        return min((waiting.needs_after for waiting in self._waiting), default=NOBODY_WAITS)

    def not_reading(self) -> list[QueuedAppend[S]]:
        """Return all proposals except those that read past keys, which continue when their read ends."""
        return [waiting for waiting in self._waiting if not waiting.is_reading]
