"""The implementation of `Client`: connects session, outbox, positions and event queue."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from itertools import batched
from typing import Any, final

from tidings_sdk.chat_list import ChatList
from tidings_sdk.codec import validate
from tidings_sdk.credentials import Credentials
from tidings_sdk.ephemeral import EphemeralState
from tidings_sdk.errors import (
    ClientStopped,
    RequestRefused,
    SendFailed,
    SendUnconfirmed,
    StoreOwnerMismatch,
    TidingsError,
)
from tidings_sdk.event_queue import EventQueue
from tidings_sdk.events import (
    LOG_EVENTS,
    ConnectionStateChanged,
    Event,
    InstallationRestored,
    MessageSendFailed,
    MessageSent,
    event_from_entry,
)
from tidings_sdk.first_sync import FirstSync
from tidings_sdk.gap_filler import GapFiller
from tidings_sdk.inbox import InboxRegistry
from tidings_sdk.outbox import Accepted, Outbox
from tidings_sdk.positions import Positions
from tidings_sdk.protocol import State
from tidings_sdk.send_queues import QueuedSend, SendQueues, new_backoff
from tidings_sdk.session import DialOptions, Session
from tidings_sdk.stores.store import OutboxEntry, Request, Store, StoreOwner
from tidings_wire.frames.ephemeral import Ack
from tidings_wire.frames.history import ChatRow, ChatRows, Entries, Entry, EntryPush, HistoryPage
from tidings_wire.frames.inbox import BroadcastUpdate, InboxUpdate
from tidings_wire.frames.session import Welcome
from tidings_wire.frames.structs import Body, ErrorBody

_SAVE_EVERY_S = 1.0
_MAX_ACKS_PER_FRAME = 200


@final
class ClientCore:
    """One running client. Chats, inboxes, the session and the send queues call it. Needs a running event loop."""

    def __init__(
        self,
        dialling: DialOptions,
        credentials: Credentials,
        store: Store,
        *,
        max_events: int,
        max_outbox: int,
    ) -> None:
        stored = store.load()
        self._store = store
        self._owner = stored.owner
        self._positions = Positions(stored.positions)
        self._first_sync = FirstSync(is_over=bool(stored.positions))
        self._outbox = Outbox(store, stored.rows, max_outbox)
        self._events = EventQueue(max_events)
        self._queued_sends: dict[tuple[str, str], QueuedSend] = {}
        self._moved: dict[str, int] = {}
        self._processed: dict[str, int] = {}
        self._heads: dict[str, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._error: Exception | None = None
        self._is_closed = False
        self._idle = asyncio.Event()
        self._name = dialling.device
        self._session = Session(dialling, credentials, self)
        self.ephemeral = EphemeralState(
            self._session,
            ChatList(stored.chats),
            user=lambda: self.user,
            offer=self._events.offer,
            start=self._start,
        )
        backoff = new_backoff(dialling.timeouts.backoff_first_s, dialling.timeouts.backoff_longest_s)
        self._send_queues = SendQueues(
            self._session, self._outbox, self._positions, self, start=self._start, backoff=backoff
        )
        self._gap_filler = GapFiller(self._session, self._positions, self._events, self._deliver, self._start)
        self.inboxes = InboxRegistry(self, self._events.offer)
        self.state = State.CLOSED

    def run(self) -> None:
        self._start(self._session.run())
        self._start(self._store_positions_regularly())
        for chat in self._outbox.chats:
            self._send_queues.wake(chat)

    async def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.ephemeral.close()
        self._end(None)
        self._store_positions()
        self._store.close()

    async def events(self) -> AsyncIterator[Event]:
        while (event := await self._events.take()) is not None:
            owner = self._owner
            yield event
            if isinstance(event, LOG_EVENTS) and owner is self._owner:
                self._first_sync.took(event.origin)
                self._moved[event.chat] = self._processed[event.chat] = event.entry.sequence

    async def flush(self) -> None:
        while len(self._outbox) and self._error is None and not self._is_closed:
            self._idle.clear()
            await self._idle.wait()
        if self._error is not None:
            raise self._error

    @property
    def user(self) -> str | None:
        return self._owner.user if self._owner else None

    @property
    def pending(self) -> int:
        return len(self._outbox)

    @property
    def dropped_events(self) -> int:
        return self._events.dropped

    def position(self, chat: str) -> int | None:
        return self._positions.of(chat)

    def put(self, request: Request) -> QueuedSend:
        self._check_running()
        validate(request)
        after = self._positions.head(request.chat) if self._is_sent_immediately(request.chat) else None
        row = OutboxEntry(request)
        if after is not None and self._session.epoch is not None:
            row = row.sent_after(after, self._session.epoch)
        self._outbox.add(row)
        queued_send = self._queued_sends[row.chat, row.key] = QueuedSend(request)
        self._send_queues.wake(row.chat)
        self.ephemeral.sent(row.chat)
        return queued_send

    async def request(self, body: Body) -> Body:
        self._check_running()
        validate(body)
        answer = await self._session.ask(body)
        if isinstance(answer, ErrorBody):
            raise RequestRefused(answer)
        return answer

    def read_up_to(self, chat: str, page: HistoryPage) -> None:
        if self._positions.of(chat) is None:
            self._moved[chat] = page.up_to
        self._positions.begin(chat, page.up_to)

    def _is_sent_immediately(self, chat: str) -> bool:
        """Return whether to store `after` with a new row. Otherwise it is stored before the first try."""
        return self._outbox.is_empty(chat) and self.state in (State.RESUMING, State.LIVE)

    def device(self) -> str | None:
        return self._name or (self._owner.device if self._owner else None)

    def epoch(self) -> int | None:
        return self._owner.epoch if self._owner else None

    def positions(self) -> dict[str, int]:
        return self._positions.on_reported()

    def welcomed(self, welcome: Welcome) -> None:
        old, new = self._owner, StoreOwner(welcome.user, welcome.device, welcome.epoch)
        if old is not None and old.user != new.user:
            raise StoreOwnerMismatch(
                f"The store belongs to the user {old.user}, the credential to {new.user}."
            )
        if old == new:
            return
        if old is not None and old.epoch != new.epoch:
            self._restored(new.epoch)
        self._store.own(new)
        self._owner = new

    def on_live(self) -> None:
        """Set positions, fill gaps and subscribe again.

        If only the row of a chat was pushed, its position is the head of the row: older entries are history.
        """
        for chat, head in self._heads.items():
            if self._positions.of(chat) is None:
                self._moved[chat] = head
            self._positions.begin(chat, head)
        self._heads.clear()
        self._first_sync.on_live()
        for chat in self._positions.behind():
            self._gap_filler.wake(chat)
        self._start(self.inboxes.refresh_all())
        self.ephemeral.on_live()

    def pushed(self, body: Body) -> None:
        match body:
            case EntryPush():
                self._on_entries(body.chat, body.sequence - 1, body.sequence, (body,))
            case Entries():
                self._on_entries(body.chat, body.after, body.up_to, body.entries)
            case ChatRow():
                self._on_row(body)
            case ChatRows():
                for row in body.rows:
                    self._on_row(row)
                    self._heads[row.chat] = row.head
            case InboxUpdate():
                self.inboxes.pushed(body)
            case BroadcastUpdate():
                self.inboxes.broadcast(body)
            case _:
                self.ephemeral.pushed(body)

    def state_changed(self, event: ConnectionStateChanged) -> None:
        self.state = event.state
        self._events.offer(event)
        self.ephemeral.state_changed(event.state)

    def accepted(self, row: OutboxEntry, outcome: Accepted) -> None:
        sent = MessageSent(row.chat, row.key, outcome.sequence, outcome.is_repeat)
        self._outcome(row, sent, sent)

    def rejected(self, row: OutboxEntry, error: ErrorBody) -> None:
        refusal = SendFailed(error)
        self._outcome(row, refusal, MessageSendFailed(row.chat, row.key, refusal))

    def own_name(self) -> str:
        return self._owner.user if self._owner else ""

    def _outcome(self, row: OutboxEntry, outcome: MessageSent | SendFailed, event: Event) -> None:
        queued_send = self._queued_sends.pop((row.chat, row.key), None)
        if queued_send is not None:
            queued_send.finish(outcome)
        self._events.offer(event)
        self._idle.set()

    def _on_entries(self, chat: str, after: int, up_to: int, entries: tuple[Entry, ...]) -> None:
        """Process pushed entries. The send queues see them first: an entry with an own key replaces a lost answer."""
        self._first_sync.saw(chat, up_to)
        for entry in entries:
            if entry.client_message_id is not None and entry.by == self.user:
                self._send_queues.saw(chat, entry.client_message_id, entry.sequence)
        if len(entries) > self._events.free:
            self._positions.missed(chat, after, up_to)
        else:
            self._deliver(chat, self._positions.take(chat, after, up_to, entries))
        self._gap_filler.wake(chat)

    def _on_row(self, row: ChatRow) -> None:
        self._first_sync.saw(row.chat, row.head)
        self._positions.committed(row.chat, row.head)
        self.ephemeral.pushed(row)

    def _deliver(self, chat: str, entries: list[Entry]) -> None:
        """Put entries into the event queue, before events derived from them, which may be dropped if it is full."""
        is_connected = self.state is State.LIVE
        for entry in entries:
            origin = self._first_sync.origin(chat, entry.sequence, is_connected=is_connected)
            self._first_sync.gave(origin)
            self._events.offer(event_from_entry(chat, entry, origin))
        self.ephemeral.gave(chat, entries)

    def _restored(self, epoch: int) -> None:
        self._positions.clear()
        self._first_sync.restart()
        self._moved.clear()
        self._processed.clear()
        self._heads.clear()
        self._events.drop_entries()
        self.ephemeral.restored()
        self.inboxes.restored()
        self._events.offer(InstallationRestored(epoch))

    async def _store_positions_regularly(self) -> None:
        while True:
            await asyncio.sleep(_SAVE_EVERY_S)
            self._store_positions()
            self._ack()

    def _ack(self) -> None:
        """Acknowledge processed entries. Without a connection, the next `connect` acknowledges them."""
        processed, self._processed = self._processed, {}
        for batch in batched(processed.items(), _MAX_ACKS_PER_FRAME):
            self._session.send(Ack(delivered=dict(batch)))

    def _store_positions(self) -> None:
        """Store the chat list, then the positions.

        If the process ends in between, entries that the list already has are delivered again. In the other order, the
        list would miss entries.
        """
        if changed := self.ephemeral.chats.changed():
            self._store.save_chats(changed)
        self._first_sync.finish(is_behind=bool(self._positions.behind()))
        if not self._first_sync.is_over:
            return
        moved, self._moved = self._moved, {}
        if moved:
            self._store.save_positions(moved)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Stop the client if a task fails: without its session it would only appear to work."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            for other in self._tasks:
                other.cancel()
            stop = (
                error
                if isinstance(error, TidingsError)
                else ClientStopped(f"Internal error of the client: {error!r}")
            )
            stop.__cause__ = stop.__cause__ or (error if error is not stop else None)
            self._end(stop)

    def _end(self, error: Exception | None) -> None:
        self._error = self._error or error
        self.state = State.CLOSED
        self._events.end(error)
        for queued_send in self._queued_sends.values():
            why = f": {self._error}" if self._error else "."
            queued_send.finish(SendUnconfirmed(f"The client ended before the answer arrived{why}"))
        self._queued_sends.clear()
        self._idle.set()

    def _check_running(self) -> None:
        if self._error is not None:
            raise self._error
        if self._is_closed:
            raise ClientStopped("The client is closed.")
