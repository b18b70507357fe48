"""A device on the SDK's client that sends, reads and records, as an app does.

Its lifetime is one connection in the history, because the SDK delivers each entry once and in order across reconnects.
"""

import asyncio
from collections.abc import Iterable
from typing import Final, final

from tidings_harness.history.events import EventKind, Outcome
from tidings_harness.history.recorder import Recorder
from tidings_harness.workload.run_state import RunState, SeenEntry, entry_text
from tidings_harness.workload.target import TargetInstallation
from tidings_sdk import (
    Client,
    ClientStopped,
    MemoryStore,
    RequestRefused,
    RequestTimeout,
    SendFailed,
    TidingsError,
    Timeouts,
)
from tidings_sdk.events import LOG_EVENTS, InstallationRestored
from tidings_sdk.protocol import State
from tidings_wire.frames.history import Entry

_TIMEOUTS: Final = Timeouts(backoff_first_s=0.05, backoff_longest_s=1.0)
_MAX_EVENTS: Final = 10_000
_NOT_FINAL: Final = frozenset({"internal", "outcome_unknown"})


@final
class SdkDevice:
    def __init__(
        self, site: TargetInstallation, ledger: RunState, user: str, device: str, chats: Iterable[str] = ()
    ) -> None:
        self.user, self.name = user, device
        self._ledger = ledger
        self._enrol()
        self.positions: dict[str, int] = dict.fromkeys(chats, 0)
        store = MemoryStore()
        store.save_positions(self.positions)

        async def token() -> str:
            return site.token(user)

        self._client = Client(
            site.steady_socket,
            token,
            store=store,
            device=device,
            proxy=None,
            patience=_TIMEOUTS,
            max_events=_MAX_EVENTS,
        )
        self._reading: asyncio.Task[None] | None = None
        self._to_scroll: set[str] = set()
        self._scrolling: list[asyncio.Task[None]] = []

    @property
    def number(self) -> int:
        return self._recorder.name(f"{self.user}/{self.name}")

    @property
    def _recorder(self) -> Recorder:
        """The recorder of the current epoch. An operation may start in one epoch and end in the next."""
        return self._ledger.recorder

    def _enrol(self) -> None:
        self._recorder.device(self.number, self._recorder.name(self.user))
        self._connection_number = self._recorder.new_connection()

    async def start(self) -> None:
        await self._client.__aenter__()
        self._reading = asyncio.create_task(self._read())

    async def stop(self) -> None:
        await self._client.close()
        if self._reading:
            await asyncio.gather(self._reading, *self._scrolling, return_exceptions=True)

    @property
    def is_live(self) -> bool:
        return self._client.state is State.LIVE

    @property
    def pending(self) -> int:
        return self._client.pending

    async def send(self, chat: str, size: int) -> Outcome:
        """Send a message. Record the send before it starts, and its outcome: final or unknown."""
        message = self._recorder.new_message()
        self._recorder.begin(
            EventKind.SEND, device=self.number, chat=self._recorder.name(chat), message=message
        )
        sequence, outcome = 0, Outcome.UNKNOWN
        try:
            sent = await self._client.chat(chat).send(entry_text(message, size))
            sequence, outcome = sent.sequence, Outcome.OK
            self._ledger.committed(chat, sequence)
        except SendFailed as refusal:
            outcome = Outcome.UNKNOWN if refusal.code in _NOT_FINAL else Outcome.FAILED
        except TidingsError:
            outcome = Outcome.UNKNOWN
        number = self._recorder.name(chat)
        self._recorder.end(
            EventKind.SENT, outcome, device=self.number, chat=number, message=message, sequence=sequence
        )
        return outcome

    async def read(self, chat: str, sequence: int) -> bool:
        """Mark as read. Return whether the server has acknowledged it."""
        recorder = self._recorder
        operation, number = recorder.new_message(), recorder.name(chat)
        fields = {"device": self.number, "chat": number, "message": operation, "sequence": sequence}
        recorder.begin(EventKind.READ, **fields)
        outcome = Outcome.UNKNOWN
        try:
            await self._client.chat(chat).read(sequence)
            outcome = Outcome.OK
        except RequestRefused:
            outcome = Outcome.FAILED
        except TidingsError:
            outcome = Outcome.UNKNOWN
        recorder.end(EventKind.READ_DONE, outcome, **fields)
        return outcome is Outcome.OK

    async def _read(self) -> None:
        try:
            async for event in self._client.events():
                if isinstance(event, InstallationRestored):
                    self._restored(event.epoch)
                elif isinstance(event, LOG_EVENTS):
                    self._scroll_to(event.chat, event.entry.sequence)
                    self._took(event.chat, self._ledger.entry(event.chat, event.entry))
        except ClientStopped:
            return  # The checker reports entries that are missing at the end.

    def _restored(self, epoch: int) -> None:
        self._ledger.welcomed(epoch)
        self._to_scroll = set(self.positions)
        self.positions.clear()
        self._enrol()

    def _scroll_to(self, chat: str, first: int) -> None:
        """Start to read the older history of a chat after a restore, of which the SDK delivers only the end."""
        if chat in self._to_scroll:
            self._to_scroll.remove(chat)
            self._scrolling.append(asyncio.create_task(self._scroll(chat, first, self._recorder)))

    async def _scroll(self, chat: str, before: int, recorder: Recorder) -> None:
        """Read pages back to the start of the chat and record their entries as a separate connection."""
        connection, found = recorder.new_connection(), list[Entry]()
        while before > 1:
            try:
                page = await self._client.chat(chat).history(before=before, limit=200)
            except RequestTimeout:
                continue
            found += page.entries
            before = page.after + 1
        number = recorder.name(chat)
        for entry in reversed(found):
            sequence, message, sort = self._ledger.entry(chat, entry)
            recorder.delivered(self.number, number, connection, sequence, message, sort=sort, is_asked=True)
        recorder.flush()

    def _took(self, chat: str, seen: SeenEntry) -> None:
        sequence, message, sort = seen
        self.positions[chat] = max(sequence, self.positions.get(chat, 0))
        self._ledger.delivered += 1
        self._recorder.delivered(
            self.number,
            self._recorder.name(chat),
            self._connection_number,
            sequence,
            message,
            sort=sort,
            is_asked=False,
        )
        self._recorder.flush()
