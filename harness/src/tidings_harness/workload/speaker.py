"""A device on the SDK's own client: what an app does, with everything the SDK does for it. It sends, reads and records.

Its whole life is one connection in the history: the SDK promises each entry once and in order, over reconnects too.
"""

import asyncio
from collections.abc import Iterable
from typing import Final, final

from tidings_harness.history.events import Kind, Outcome
from tidings_harness.workload.ledger import Ledger, Seen, text_of
from tidings_harness.workload.site import Site
from tidings_sdk import Client, MemoryStore, NotSent, Patience, Refused, Stopped, TidingsError
from tidings_sdk.connection import State
from tidings_sdk.events import LOG_EVENTS

_PATIENCE: Final = Patience(backoff_first_s=0.05, backoff_longest_s=1.0)
_MAX_EVENTS: Final = 10_000
_NOT_FINAL: Final = frozenset({"internal", "outcome_unknown"})


@final
class Speaker:
    def __init__(self, site: Site, ledger: Ledger, user: str, device: str, chats: Iterable[str] = ()) -> None:
        self.user, self.name = user, device
        self._ledger, self._recorder = ledger, ledger.recorder
        self.number = self._recorder.name(f"{user}/{device}")
        self._recorder.device(self.number, self._recorder.name(user))
        self._connection_number = self._recorder.new_connection()
        self.positions: dict[str, int] = dict.fromkeys(chats, 0)
        store = MemoryStore()
        store.keep_positions(self.positions)

        async def token() -> str:
            return site.token(user)

        self._client = Client(
            site.steady_socket,
            token,
            store=store,
            device=device,
            proxy=None,
            patience=_PATIENCE,
            max_events=_MAX_EVENTS,
        )
        self._reading: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self._client.__aenter__()
        self._reading = asyncio.create_task(self._read())

    async def stop(self) -> None:
        await self._client.close()
        if self._reading:
            await asyncio.gather(self._reading, return_exceptions=True)

    @property
    def is_live(self) -> bool:
        return self._client.state is State.LIVE

    @property
    def pending(self) -> int:
        return self._client.pending

    async def send(self, chat: str, size: int) -> Outcome:
        """On record before it is issued; answered for good, or unknown."""
        message, number = self._recorder.new_message(), self._recorder.name(chat)
        self._recorder.begin(Kind.SEND, device=self.number, chat=number, message=message)
        sequence, outcome = 0, Outcome.UNKNOWN
        try:
            sent = await self._client.chat(chat).send(text_of(message, size))
            sequence, outcome = sent.sequence, Outcome.OK
            self._ledger.committed(chat, sequence)
        except NotSent as refusal:
            outcome = Outcome.UNKNOWN if refusal.code in _NOT_FINAL else Outcome.FAILED
        except TidingsError:
            outcome = Outcome.UNKNOWN
        self._recorder.end(
            Kind.SENT, outcome, device=self.number, chat=number, message=message, sequence=sequence
        )
        return outcome

    async def read(self, chat: str, sequence: int) -> None:
        operation, number = self._recorder.new_message(), self._recorder.name(chat)
        fields = {"device": self.number, "chat": number, "message": operation, "sequence": sequence}
        self._recorder.begin(Kind.READ, **fields)
        outcome = Outcome.UNKNOWN
        try:
            await self._client.chat(chat).read(sequence)
            outcome = Outcome.OK
        except Refused:
            outcome = Outcome.FAILED
        except TidingsError:
            outcome = Outcome.UNKNOWN
        self._recorder.end(Kind.READ_DONE, outcome, **fields)

    async def _read(self) -> None:
        try:
            async for event in self._client.events():
                if isinstance(event, LOG_EVENTS):
                    self._took(event.chat, self._ledger.entry(event.chat, event.entry))
        except Stopped:
            return  # told by what is missing in the end

    def _took(self, chat: str, seen: Seen) -> None:
        sequence, message, sort = seen
        self.positions[chat] = max(sequence, self.positions.get(chat, 0))
        self._ledger.given += 1
        self._recorder.given(
            self.number,
            self._recorder.name(chat),
            self._connection_number,
            sequence,
            message,
            sort=sort,
            is_asked=False,
        )
        self._recorder.flush()
