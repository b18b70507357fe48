"""The public client of the SDK. `client_core` has its implementation."""

import ssl as tls
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, final

from tidings_sdk import dev
from tidings_sdk.attachments import Attachments
from tidings_sdk.chat import Chat
from tidings_sdk.client_core import ClientCore
from tidings_sdk.credentials import Credentials, Provider
from tidings_sdk.ephemeral import PresenceState
from tidings_sdk.errors import ClientStopped
from tidings_sdk.events import LOG_EVENTS, Event, PresenceChanged
from tidings_sdk.inbox import Inbox
from tidings_sdk.moderation import Moderation
from tidings_sdk.protocol import State
from tidings_sdk.push import PushNotifications
from tidings_sdk.search import MessageSearch
from tidings_sdk.session import DialOptions, Timeouts
from tidings_sdk.stores.memory import MemoryStore
from tidings_sdk.stores.store import Store
from tidings_wire.frames.history import ChatRow


@final
class Client:
    """One device of one user. Use it with `async with`; it reconnects automatically.

    `token`: the credential, or an async function that returns one when the client needs it. `api`: the address of the
    REST API, such as `https://chat.example.com`; attachments, moderation and search need it. `store`: where the outbox
    and the positions are kept; the default store is in memory and ends with the process. `max_events`: maximum number
    of events that wait for `events()`. Beyond it, entries are read from the log later, and other events are dropped and
    counted in `dropped_events`. `max_outbox`: maximum number of messages in the outbox. `proxy`: True uses the proxy
    settings of the environment. `patience`: how long to wait for sockets, answers and reconnects.
    """

    def __init__(
        self,
        url: str,
        token: str | Provider,
        *,
        api: str | None = None,
        store: Store | None = None,
        device: str | None = None,
        ssl: tls.SSLContext | None = None,
        proxy: str | Literal[True] | None = True,
        max_events: int = 1_000,
        max_outbox: int = 10_000,
        patience: Timeouts | None = None,
    ) -> None:
        self._credentials = Credentials(token)
        self._attachments = Attachments(api, Credentials(token)) if api else None
        self._moderation = Moderation(api, Credentials(token)) if api else None
        self._search = MessageSearch(api, Credentials(token)) if api else None
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
        """Create a client for a user of the `tidings dev` that runs in this directory. Raises `NoDevServer`."""
        dev_file = dev.read_dev_file(path)
        if user not in dev_file["users"]:
            raise dev.NoDevServer(
                f"`tidings dev` has no user {user}. Choose one of {', '.join(dev_file['users'])}."
            )

        async def token() -> str:
            return str(dev.read_dev_file(path)["users"][user]["token"])

        return cls(
            dev_file["gateway"], token, api=dev_file.get("api"), store=store, device=device, proxy=None
        )

    async def __aenter__(self) -> Self:
        """Start the client. Does not wait for the connection: earlier messages wait in the outbox."""
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
        """Close the connection and the store. Unanswered messages stay in the store."""
        await self._running.close()

    def chat(self, chat: str) -> Chat:
        """Return a chat by its id, without a request to the server."""
        return Chat(self._running, chat)

    def inbox(self, name: str = "default") -> Inbox:
        """Return an inbox, always the same object. Its first request subscribes to changes, which are events."""
        return self._running.inboxes.get(name)

    @property
    def push(self) -> PushNotifications:
        """Push notifications of the device and its user."""
        return PushNotifications(self._running)

    @property
    def attachments(self) -> Attachments:
        """The files of the user's messages. Raises `ValueError` if the client has no `api`."""
        if self._attachments is None:
            raise ValueError("Attachments need the argument `api` of the client.")
        return self._attachments

    @property
    def moderation(self) -> Moderation:
        """Reports, invites, and what keeps the user from sending. Raises `ValueError` if the client has no `api`."""
        if self._moderation is None:
            raise ValueError("Moderation needs the argument `api` of the client.")
        return self._moderation

    @property
    def search(self) -> MessageSearch:
        """Search in the user's messages. Raises `ValueError` if the client has no `api`."""
        if self._search is None:
            raise ValueError("Search needs the argument `api` of the client.")
        return self._search

    def chats(self) -> list[ChatRow]:
        """Return the user's current chat list: pinned chats first, then newest activity first."""
        return self._running.ephemeral.chats.rows()

    def watch(self, *users: str) -> None:
        """Subscribe to the presence of users, now and after each reconnect. For chats, use `Chat.watch`."""
        self._running.ephemeral.watch(users=users)

    def unwatch(self, *users: str) -> None:
        """End the subscription of `watch`."""
        self._running.ephemeral.unwatch(users=users)

    def presence(self, user: str) -> PresenceChanged | None:
        """Return the presence of a watched user. None: not received yet, or there is no connection."""
        return self._running.ephemeral.presence(user)

    def set_presence(self, appearance: PresenceState) -> None:
        """Set the user's presence on this device, now and after each reconnect. The default is `online`."""
        self._running.ephemeral.set_presence(appearance)

    def events(self, *, live_only: bool = False) -> AsyncIterator[Event]:
        """Iterate over the events, for one reader. `live_only` omits entries from before the client's first sync.

        An event is processed when the loop requests the next one. After a crash, unprocessed entries are delivered
        again if the store is a file. Ends when the client is closed. Raises `ClientStopped` if the client cannot
        continue.
        """
        events = self._running.events()
        return _live(events) if live_only else events

    async def flush(self) -> None:
        """Wait until the outbox is empty. Raises `ClientStopped` if the client stops before."""
        await self._running.flush()

    @property
    def state(self) -> State:
        return self._running.state

    @property
    def user(self) -> str | None:
        """The user of the credential, from the server or the store. None before the first connection."""
        return self._running.user

    @property
    def pending(self) -> int:
        """The number of messages in the outbox."""
        return self._running.pending

    @property
    def dropped_events(self) -> int:
        return self._running.dropped_events

    def position(self, chat: str) -> int | None:
        """Return the device's position in a chat. None: the device does not know the chat."""
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
