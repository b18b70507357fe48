"""The operations on one chat. Changes of the log go through the outbox; other requests are sent at once."""

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
    """The parts of the client that a chat uses."""

    ephemeral: EphemeralState

    def put(self, request: Request) -> QueuedSend: ...
    async def request(self, body: Body) -> Body: ...
    def read_up_to(self, chat: str, page: HistoryPage) -> None: ...


@final
class Chat:
    """One chat. Get it with `client.chat(id)`."""

    def __init__(self, backend: ChatBackend, chat: str) -> None:
        self._backend = backend
        self.id = chat

    def send(
        self,
        text: str = "",
        *,
        data: Data | None = None,
        reply_to: int | None = None,
        mentions: Sequence[str] = (),
        attachments: Sequence[str] = (),
        content_type: str | None = None,
        ttl_seconds: int | None = None,
    ) -> QueuedSend:
        """Put a message into the outbox. Messages of a chat are sent in order.

        The message is in the store when this returns. `await` the result for the outcome. Raises `OutboxFull`, and
        `ValueError` for content that the server would refuse.
        """
        return self._backend.put(
            Send(
                chat=self.id,
                client_message_id=new_client_message_id(),
                text=text,
                data=data,
                reply_to=reply_to,
                mentions=tuple(mentions),
                attachments=tuple(attachments),
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
        """Replace the whole content of the message. Arguments that are not given become empty."""
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
        """Delete the content of the message permanently."""
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
        """Read a page of entries, newest first: `before`, `after` or `around` a sequence, or the newest page.

        The newest page sets the position of a chat that this device does not know yet. Positions of other chats do
        not change. Raises `RequestRefused` or `RequestTimeout`.
        """
        request = GetHistory(chat=self.id, before=before, after=after, around=around, limit=limit)
        page = await self._backend.request(request)
        assert isinstance(page, HistoryPage)  # noqa: S101 - the answer to `history`
        if before is None and after is None and around is None:
            self._backend.read_up_to(self.id, page)
        return page

    async def read(self, sequence: int) -> None:
        """Mark the chat as read up to `sequence`."""
        self._backend.ephemeral.reads(self.id, sequence)
        await self._backend.request(Read(chat=self.id, sequence=sequence))
        self._backend.ephemeral.has_read(self.id, sequence)

    def watch(self) -> None:
        """Subscribe to receipts and typing of this chat, now and after each reconnect. Entries need no subscription."""
        self._backend.ephemeral.watch(chats=(self.id,))

    def unwatch(self) -> None:
        """End the subscription of `watch`."""
        self._backend.ephemeral.unwatch(chats=(self.id,))

    def status(self, sequence: int) -> MessageStatus:
        """Return the status of one of the user's own messages, as far as known. `ReceiptsChanged` announces changes."""
        return self._backend.ephemeral.status(self.id, sequence)

    @property
    def row(self) -> ChatRow | None:
        """The row of the chat in the user's chat list, or None."""
        return self._backend.ephemeral.chats.row(self.id)

    @property
    def members(self) -> tuple[str, ...]:
        """The members, if the chat is watched and not large."""
        return self._backend.ephemeral.members(self.id)

    @property
    def typing_users(self) -> tuple[str, ...]:
        """The users who are typing, if the chat is watched."""
        return self._backend.ephemeral.typists(self.id)

    def typing(self, *, is_typing: bool = True) -> None:
        """Report that the user is typing. Call it on every keystroke: it is sent every few seconds only.

        Typing ends automatically after some seconds, and when a message is sent.
        """
        self._backend.ephemeral.type(self.id, is_typing=is_typing)
