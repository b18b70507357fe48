"""One chat: what may be done in it. What changes the log goes through the outbox, the rest is asked at once."""

from collections.abc import Sequence
from typing import Protocol, final

from tidings_sdk.ephemeral import EphemeralState
from tidings_sdk.receipts import MessageStatus
from tidings_sdk.send_queues import QueuedSend, new_client_message_id
from tidings_sdk.stores.store import Request
from tidings_wire.fields import Data
from tidings_wire.frames.ephemeral import Read
from tidings_wire.frames.history import ChatRow, GetHistory, HistoryPage
from tidings_wire.frames.messages import Edit, React, Redact, Send
from tidings_wire.frames.structs import Body


class ChatBackend(Protocol):
    """What a chat needs of its client."""

    ephemeral: EphemeralState

    def put(self, request: Request) -> QueuedSend: ...
    async def request(self, body: Body) -> Body: ...
    def read_up_to(self, chat: str, page: HistoryPage) -> None: ...


@final
class Chat:
    """One chat, as `client.chat(id)` gives it."""

    def __init__(self, desk: ChatBackend, chat: str) -> None:
        self._backend = desk
        self.id = chat

    def send(
        self,
        text: str = "",
        *,
        data: Data | None = None,
        reply_to: int | None = None,
        mentions: Sequence[str] = (),
        content_type: str | None = None,
        ttl_seconds: int | None = None,
    ) -> QueuedSend:
        """It is in the store when this returns, and goes out in its turn. `await` what is returned for the outcome."""
        return self._backend.put(
            Send(
                chat=self.id,
                client_message_id=new_client_message_id(),
                text=text,
                data=data,
                reply_to=reply_to,
                mentions=tuple(mentions),
                content_type=content_type,
                ttl_seconds=ttl_seconds,
            )
        )

    def edit(
        self,
        sequence: int,
        text: str = "",
        *,
        data: Data | None = None,
        reply_to: int | None = None,
        mentions: Sequence[str] = (),
    ) -> QueuedSend:
        """Replace the whole content of the message: what is not given is empty afterwards."""
        return self._backend.put(
            Edit(
                chat=self.id,
                client_message_id=new_client_message_id(),
                sequence=sequence,
                text=text,
                data=data,
                reply_to=reply_to,
                mentions=tuple(mentions),
            )
        )

    def redact(self, sequence: int) -> QueuedSend:
        """The message is emptied, for good."""
        return self._backend.put(
            Redact(chat=self.id, client_message_id=new_client_message_id(), sequence=sequence)
        )

    def react(self, sequence: int, emoji: str, *, is_removed: bool = False) -> QueuedSend:
        """Add the user's reaction to a message, or remove it."""
        key = new_client_message_id()
        return self._backend.put(
            React(chat=self.id, client_message_id=key, sequence=sequence, emoji=emoji, is_removed=is_removed)
        )

    async def history(
        self,
        *,
        before: int | None = None,
        after: int | None = None,
        around: int | None = None,
        limit: int = 50,
    ) -> HistoryPage:
        """A page, newest first; without a place the newest. It moves no position but the first of an unknown chat."""
        asked = GetHistory(chat=self.id, before=before, after=after, around=around, limit=limit)
        page = await self._backend.request(asked)
        assert isinstance(page, HistoryPage)  # noqa: S101 - the form that `history` is answered in
        if before is None and after is None and around is None:
            self._backend.read_up_to(self.id, page)
        return page

    async def read(self, sequence: int) -> None:
        """The user has read up to here."""
        asked = Read(chat=self.id, sequence=sequence)
        self._backend.ephemeral.reads(self.id, sequence)
        await self._backend.request(asked)
        self._backend.ephemeral.has_read(self.id, sequence)

    def watch(self) -> None:
        """Ticks and typing of this chat, from now on and after each reconnect. Entries come without it."""
        self._backend.ephemeral.watch(chats=(self.id,))

    def unwatch(self) -> None:
        """End what `watch` began."""
        self._backend.ephemeral.unwatch(chats=(self.id,))

    def status(self, sequence: int) -> MessageStatus:
        """Of a message of one's own, as far as is known; `ReceiptsChanged` says when it may be another."""
        return self._backend.ephemeral.status(self.id, sequence)

    @property
    def row(self) -> ChatRow | None:
        """The chat as the user's list shows it."""
        return self._backend.ephemeral.chats.row(self.id)

    @property
    def members(self) -> tuple[str, ...]:
        """Who is there, if the chat is watched and not large."""
        return self._backend.ephemeral.members(self.id)

    @property
    def typing_users(self) -> tuple[str, ...]:
        """Who types now, if the chat is watched."""
        return self._backend.ephemeral.typists(self.id)

    def typing(self, *, is_typing: bool = True) -> None:
        """At every key, if you like: it is told every few seconds. Ends by itself, and with a message."""
        self._backend.ephemeral.type(self.id, is_typing=is_typing)
