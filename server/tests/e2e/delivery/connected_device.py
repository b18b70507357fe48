"""A device on the SDK that records every entry that it receives, over any number of connections and restarts."""

import asyncio
import secrets
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from fixtures.installation_processes import InstallationProcesses
from fixtures.loops import until

from tidings_sdk import Client, FileStore, Timeouts
from tidings_sdk.events import LOG_EVENTS, ConnectionStateChanged, Event
from tidings_sdk.protocol import State
from tidings_wire.frames.history import ChatRow, Entry

_SOON = Timeouts(backoff_first_s=0.05, backoff_longest_s=0.3)
LONG_S = 150.0


class ConnectedClient:
    """A client that is connected inside `async with`. Its store survives, as on a phone that is switched off."""

    def __init__(
        self, installation: InstallationProcesses, port: int, user: str, device: str = "phone"
    ) -> None:
        self._installation, self._port = installation, port
        self.user, self.device = user, device
        self.entries: dict[str, list[Entry]] = defaultdict(list)
        self.rows: dict[str, ChatRow] = {}
        self.states: list[State] = []
        self._ahead_s = 0.0
        self._client: Client | None = None
        self._reading: asyncio.Task[None] | None = None

    @property
    def client(self) -> Client:
        assert self._client, "it is switched off"
        return self._client

    async def __aenter__(self) -> Self:
        async def token() -> str:
            return self._installation.token(self.user, ahead_s=self._ahead_s)

        store = FileStore(self._store)
        url = f"ws://127.0.0.1:{self._port}/v1/socket"
        client = Client(url, token, store=store, device=self.device, proxy=None, patience=_SOON)
        self._client = await client.__aenter__()
        self._reading = asyncio.create_task(self._read(client))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnect. The store of the device stays."""
        await self.client.close()
        assert self._reading
        await self._reading
        self._client = None

    def move_to(self, port: int, *, credential_from_s: float = 0.0) -> None:
        """Connect to this port from the next start on. If the server's clock is ahead, the credential must be too."""
        self._port, self._ahead_s = port, credential_from_s

    async def live(self, within_s: float = LONG_S) -> None:
        await until(lambda: self.client.state is State.LIVE, within_s)

    def sequences(self, chat: str) -> list[int]:
        return [entry.sequence for entry in self.entries[chat]]

    def texts(self, chat: str) -> list[str]:
        return [entry.text for entry in self.entries[chat] if entry.kind == "message"]

    async def holds(self, chat: str, sequences: Sequence[int], within_s: float = LONG_S) -> None:
        """Wait for these sequences. Fail unless the device has exactly these, in this order, each once."""
        with suppress(AssertionError):  # the assertion below reports what the device has
            await until(lambda: set(sequences) <= set(self.sequences(chat)), within_s)
        held, wanted = self.sequences(chat), list(sequences)
        assert held == wanted, f"{self.user}/{self.device} holds {held}, not {wanted}"

    @property
    def _store(self) -> Path:
        return self._installation.directory / f"{self.user}-{self.device}.store"

    async def _read(self, client: Client) -> None:
        async for event in client.events():
            self._note(event)

    def _note(self, event: Event) -> None:
        if isinstance(event, LOG_EVENTS):
            self.entries[event.chat].append(event.entry)
        elif isinstance(event, ChatRow):
            self.rows[event.chat] = event
        elif isinstance(event, ConnectionStateChanged):
            self.states.append(event.state)


@asynccontextmanager
async def watching(
    installation: InstallationProcesses, port: int, *users: str, device: str = "phone"
) -> AsyncIterator[list[ConnectedClient]]:
    """Open a live device for each user."""
    watchers = [ConnectedClient(installation, port, user, device) for user in users]
    async with asyncio.TaskGroup() as group:
        for watcher in watchers:
            group.create_task(_on(watcher))
    try:
        yield watchers
    finally:
        for watcher in watchers:
            await watcher.__aexit__(None, None, None)


async def _on(watcher: ConnectedClient) -> None:
    await watcher.__aenter__()
    await watcher.live()


class Names:
    """User ids that only one test uses."""

    def __init__(self) -> None:
        self._mark = secrets.token_hex(3)

    def __getattr__(self, name: str) -> str:
        return f"{name}-{self._mark}"

    def many(self, count: int) -> list[str]:
        return [f"one-{number}-{self._mark}" for number in range(count)]
