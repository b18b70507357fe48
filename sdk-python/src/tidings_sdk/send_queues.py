"""Send the messages of the outbox: one queue per chat, in order, each with retries until its outcome is known."""

import asyncio
import os
import random
import time
from collections.abc import Callable, Generator
from typing import Final, Protocol, final

from tidings_sdk.backoff import Backoff
from tidings_sdk.errors import RequestTimeout
from tidings_sdk.events import MessageSent
from tidings_sdk.outbox import (
    Accepted,
    CatchUpFirst,
    FoundInLog,
    MembershipEnded,
    Outbox,
    Rejected,
    RetryLater,
    SendDecision,
    decide_send,
    find_in_log,
)
from tidings_sdk.positions import Positions
from tidings_sdk.stores.store import OutboxEntry, Request
from tidings_wire.frames.history import GetHistory, HistoryPage
from tidings_wire.frames.structs import Body, ErrorBody

_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def new_client_message_id() -> str:
    """Return a new ULID: 48 bits of milliseconds and 80 random bits in 26 characters. ULIDs sort by time."""
    number = (time.time_ns() // 1_000_000 << 80) | int.from_bytes(os.urandom(10))
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))


@final
class QueuedSend:
    """A message in the outbox, which an app can show as pending. Awaiting it is optional.

    `await` returns `MessageSent` or raises `SendFailed`, which is final. It raises `SendUnconfirmed` if the client ended
    first; then the message stays in the store.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.future: asyncio.Future[MessageSent] = asyncio.get_running_loop().create_future()
        # Retrieve the exception, so that asyncio does not log it as unhandled. The app receives it as an event too.
        self.future.add_done_callback(lambda future: future.cancelled() or future.exception())

    @property
    def chat(self) -> str:
        return self.request.chat

    @property
    def client_message_id(self) -> str:
        return self.request.client_message_id

    @property
    def is_done(self) -> bool:
        return self.future.done()

    def __await__(self) -> Generator[object, None, MessageSent]:
        # Cancelling the caller must not cancel the message.
        return asyncio.shield(self.future).__await__()

    def finish(self, outcome: MessageSent | Exception) -> None:
        if self.future.done():
            return
        if isinstance(outcome, MessageSent):
            self.future.set_result(outcome)
        else:
            self.future.set_exception(outcome)


_PAGE = 200


class RequestSender(Protocol):
    epoch: int | None

    async def let_in(self) -> None: ...
    async def ask(self, body: Body, *, epoch: int | None = None) -> Body: ...


class SendOutcomeHandler(Protocol):
    """Receives the outcome of each row once, after the row was deleted from the store."""

    def accepted(self, row: OutboxEntry, outcome: Accepted) -> None: ...
    def rejected(self, row: OutboxEntry, error: ErrorBody) -> None: ...
    def own_name(self) -> str: ...


class _HistoryRefused(Exception):  # noqa: N818 - an outcome
    def __init__(self, decision: SendDecision) -> None:
        super().__init__()
        self.decision = decision


@final
class SendQueues:
    """Send the rows of the outbox. `start` runs a coroutine as a task of the client."""

    def __init__(
        self,
        asking: RequestSender,
        outbox: Outbox,
        positions: Positions,
        outcomes: SendOutcomeHandler,
        *,
        start: Callable[..., object],
        backoff: Callable[[], Backoff],
    ) -> None:
        self._asking = asking
        self._outbox = outbox
        self._positions = positions
        self._outcomes = outcomes
        self._start = start
        self._backoff = backoff
        self._running: set[str] = set()

    def wake(self, chat: str) -> None:
        if chat not in self._running and not self._outbox.is_empty(chat):
            self._running.add(chat)
            self._start(self._run(chat))

    def saw(self, chat: str, key: str, sequence: int) -> None:
        """Settle the first row if its entry was pushed or read from the log. This replaces a lost answer."""
        row = self._outbox.first(chat)
        if row is not None and row.key == key:
            self._finish(row, Accepted(sequence, is_repeat=True))

    async def _run(self, chat: str) -> None:
        try:
            while (row := self._outbox.first(chat)) is not None:
                await self._send_until_settled(row)
        finally:
            self._running.discard(chat)

    async def _send_until_settled(self, row: OutboxEntry) -> None:
        """Send a row until it is settled. Each try reads the stored row again, because `after` may have changed."""
        backoff, failures = self._backoff(), 0
        while (current := self._outbox.first(row.chat)) is not None and current.key == row.key:
            await self._asking.let_in()
            decision = await self._try(current, failures)
            if not isinstance(decision, RetryLater):
                self._finish(current, decision)
                return
            failures += decision.is_failure
            now = asyncio.get_running_loop().time()
            await asyncio.sleep(backoff.wait_s(now, decision.retry_after_ms))

    async def _try(self, row: OutboxEntry, failures: int) -> SendDecision:
        epoch = self._asking.epoch
        if epoch is None:
            return RetryLater()
        try:
            if row.request.after is None:
                row = self._store(row, await self._first_after(row.chat, epoch), epoch)
            elif row.epoch != epoch:
                return await self._catch_up(row, epoch)
            decision = decide_send(await self._asking.ask(row.request, epoch=epoch), failures)
            return await self._catch_up(row, epoch) if isinstance(decision, CatchUpFirst) else decision
        except RequestTimeout:
            return RetryLater(0)
        except _HistoryRefused as refused:
            return refused.decision

    def _finish(self, row: OutboxEntry, decision: SendDecision) -> None:
        if not self._outbox.remove(row.chat, row.key):
            return
        if isinstance(decision, Accepted):
            self._positions.committed(row.chat, decision.sequence)
            self._outcomes.accepted(row, decision)
        elif isinstance(decision, Rejected):
            self._positions.doubt(row.chat)
            self._outcomes.rejected(row, decision.error)

    async def _first_after(self, chat: str, epoch: int) -> int:
        known = self._positions.head(chat)
        return await self._head(chat, epoch) if known is None else known

    async def _catch_up(self, row: OutboxEntry, epoch: int) -> SendDecision:
        """Search the log after `after` for the row's key. If it is absent, raise `after` page by page.

        Never raise it over the end of a membership: the server refuses tries from before, so the message is not and
        will not be in the log.
        """
        head = await self._head(row.chat, epoch)
        if (row.request.after or 0) > head:
            self._store(row, head, epoch)
            return RetryLater(0)
        while True:
            page = await self._page(GetHistory(chat=row.chat, after=row.request.after, limit=_PAGE), epoch)
            found = find_in_log(row, self._outcomes.own_name(), page.entries)
            if isinstance(found, FoundInLog):
                return Accepted(found.sequence, is_repeat=True)
            if isinstance(found, MembershipEnded):
                return Rejected(_ended(found))
            row = self._store(row, page.up_to, epoch)
            if not page.has_newer:
                return RetryLater()

    def _store(self, row: OutboxEntry, after: int, epoch: int) -> OutboxEntry:
        changed = row.sent_after(after, epoch)
        self._outbox.change_first(changed)
        return changed

    async def _head(self, chat: str, epoch: int) -> int:
        page = await self._page(GetHistory(chat=chat, limit=1), epoch)
        self._positions.committed(chat, page.up_to)
        return page.up_to

    async def _page(self, request: GetHistory, epoch: int) -> HistoryPage:
        answer = await self._asking.ask(request, epoch=epoch)
        if isinstance(answer, HistoryPage):
            return answer
        raise _HistoryRefused(decide_send(answer, 0))


def _ended(found: MembershipEnded) -> ErrorBody:
    text = f"The user's right to send ended at sequence {found.entry.sequence}, before the message was committed."
    return ErrorBody(
        code="not_a_member", message=text, hint="If the user is a member again, send a new message."
    )


def new_backoff(first_s: float, longest_s: float) -> Callable[[], Backoff]:
    return lambda: Backoff(random.random, first_s, longest_s)
