"""One chat: what may be done in it. What changes the log goes through the outbox, the rest is asked at once."""

from collections.abc import Sequence
from typing import Protocol, final

from tidings_sdk.fields import Data
from tidings_sdk.frames.reading import History, HistoryPage
from tidings_sdk.frames.shape import Body
from tidings_sdk.frames.signs import Typing
from tidings_sdk.frames.watermarks import Read
from tidings_sdk.frames.writing import Edit, React, Redact, Send
from tidings_sdk.keys import new_key
from tidings_sdk.outbox import Request
from tidings_sdk.sending import Sending


class Desk(Protocol):
    """What a chat needs of its client."""

    def put(self, request: Request) -> Sending: ...
    async def request(self, body: Body) -> Body: ...
    def read_up_to(self, chat: str, page: HistoryPage) -> None: ...


@final
class Chat:
    def __init__(self, desk: Desk, chat: str) -> None:
        self._desk = desk
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
    ) -> Sending:
        """It is in the store when this returns, and goes out in its turn. `await` what is returned for the outcome."""
        return self._desk.put(
            Send(
                chat=self.id,
                client_message_id=new_key(),
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
    ) -> Sending:
        return self._desk.put(
            Edit(
                chat=self.id,
                client_message_id=new_key(),
                sequence=sequence,
                text=text,
                data=data,
                reply_to=reply_to,
                mentions=tuple(mentions),
            )
        )

    def redact(self, sequence: int) -> Sending:
        """The message is emptied, for good."""
        return self._desk.put(Redact(chat=self.id, client_message_id=new_key(), sequence=sequence))

    def react(self, sequence: int, emoji: str, *, is_removed: bool = False) -> Sending:
        key = new_key()
        return self._desk.put(
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
        asked = History(chat=self.id, before=before, after=after, around=around, limit=limit)
        page = await self._desk.request(asked)
        assert isinstance(page, HistoryPage)  # noqa: S101 - the form that `history` is answered in
        if before is None and after is None and around is None:
            self._desk.read_up_to(self.id, page)
        return page

    async def read(self, sequence: int) -> None:
        """The user has read up to here."""
        await self._desk.request(Read(chat=self.id, sequence=sequence))

    async def typing(self, *, is_typing: bool = True) -> None:
        await self._desk.request(Typing(chat=self.id, is_typing=is_typing))
