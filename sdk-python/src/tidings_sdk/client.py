"""What an app holds: a client, from which chats and events come. What is behind it is `device`."""

import ssl as tls
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, final

from tidings_sdk import dev
from tidings_sdk.chat import Chat
from tidings_sdk.client_core import ClientCore
from tidings_sdk.credentials import Credentials, Provider
from tidings_sdk.ephemeral import PresenceState
from tidings_sdk.errors import ClientStopped
from tidings_sdk.events import LOG_EVENTS, Event, PresenceChanged
from tidings_sdk.inbox import Inbox
from tidings_sdk.protocol import State
from tidings_sdk.session import DialOptions, Timeouts
from tidings_sdk.stores.memory import MemoryStore
from tidings_sdk.stores.store import Store
from tidings_wire.frames.history import ChatRow


@final
class Client:
    """One device of one user. `async with` it; then chats send and `events()` tells, whatever the network does.

    `token`: the credential, or an async function that gets one when it is needed. `store`: where the outbox is kept;
    without one it ends with the process. `max_events`: how many events wait for their reader; beyond that entries are
    read from the log later, anything else is dropped (`dropped_events`). `proxy`: True is what the environment says.
    """

    def __init__(
        self,
        url: str,
        token: str | Provider,
        *,
        store: Store | None = None,
        device: str | None = None,
        ssl: tls.SSLContext | None = None,
        proxy: str | Literal[True] | None = True,
        max_events: int = 1_000,
        max_outbox: int = 10_000,
        patience: Timeouts | None = None,
    ) -> None:
        self._credentials = Credentials(token)
        self._store = store or MemoryStore()
        self._dialling = DialOptions(
            url=url, device=device, ssl=ssl, proxy=proxy, timeouts=patience or Timeouts()
        )
        self._max_events = max_events
        self._max_outbox = max_outbox
        self._device: ClientCore | None = None

    @classmethod
    def from_dev(
        cls, user: str, *, store: Store | None = None, device: str | None = None, path: Path = dev.CLIENT
    ) -> Self:
        """Make a client of a user of the `tidings dev` that runs in this folder. Raises `NoDevServer`."""
        told = dev.read_dev_file(path)
        if user not in told["users"]:
            raise dev.NoDevServer(f"There is no user {user} here; there are {', '.join(told['users'])}.")

        async def token() -> str:
            return str(dev.read_dev_file(path)["users"][user]["token"])

        return cls(told["gateway"], token, store=store, device=device, proxy=None)

    async def __aenter__(self) -> Self:
        """Does not wait for the connection: what is sent before it stands waits in the outbox."""
        self._device = ClientCore(
            self._dialling,
            self._credentials,
            self._store,
            max_events=self._max_events,
            max_outbox=self._max_outbox,
        )
        self._device.run()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """What was not answered stays in the store."""
        await self._running.close()

    def chat(self, chat: str) -> Chat:
        """Get a chat by its id; nothing is requested yet."""
        return Chat(self._running, chat)

    def inbox(self, name: str = "default") -> Inbox:
        """The same one each time. Changes of it come with the events, once something was asked of it."""
        return self._running.inboxes.get(name)

    def chats(self) -> list[ChatRow]:
        """The user's chats as this device knows them, kept current: pinned first, then newest activity first."""
        return self._running.ephemeral.chats.rows()

    def watch(self, *users: str) -> None:
        """Presence of these users, from now on and after each reconnect. Chats have a `watch` of their own."""
        self._running.ephemeral.watch(users=users)

    def unwatch(self, *users: str) -> None:
        """End what `watch` began."""
        self._running.ephemeral.unwatch(users=users)

    def presence(self, user: str) -> PresenceChanged | None:
        """Of a watched user; None: not told yet, or there is no connection that could tell."""
        return self._running.ephemeral.presence(user)

    def set_presence(self, appearance: PresenceState) -> None:
        """How the user is there on this device, now and after each reconnect; at first `online`."""
        self._running.ephemeral.set_presence(appearance)

    def events(self, *, live_only: bool = False) -> AsyncIterator[Event]:
        """Iterate over the events, for one reader. `live_only` leaves out entries that are older than the client.

        An event counts as given when the next one is asked for; what was not given is given again after a crash, if
        the store survives it. Ends when the client is closed, raises `ClientStopped` if the client cannot continue.
        """
        events = self._running.events()
        return _live(events) if live_only else events

    async def flush(self) -> None:
        """Until the outbox is empty. Raises `ClientStopped` if it can't get so."""
        await self._running.flush()

    @property
    def state(self) -> State:
        return self._running.state

    @property
    def user(self) -> str | None:
        """As the server said; None before the first connection."""
        return self._running.user

    @property
    def pending(self) -> int:
        """How many wait in the outbox."""
        return self._running.pending

    @property
    def dropped_events(self) -> int:
        return self._running.dropped_events

    def position(self, chat: str) -> int | None:
        """Up to where this device holds the chat; None: it does not know it."""
        return self._running.position(chat)

    @property
    def _running(self) -> ClientCore:
        if self._device is None:
            raise ClientStopped("The client was not started: use it with `async with`.")
        return self._device


async def _live(events: AsyncIterator[Event]) -> AsyncIterator[Event]:
    async for event in events:
        if not isinstance(event, LOG_EVENTS) or event.is_live:
            yield event
