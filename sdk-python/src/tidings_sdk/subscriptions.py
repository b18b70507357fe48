"""The flow "watch": chats and users whose signs are wanted, told to each new connection, in parts that a frame may hold."""

import asyncio
import logging
import random
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final, final

from tidings_sdk.backoff import Backoff
from tidings_sdk.errors import RequestTimeout
from tidings_sdk.send_queues import RequestSender
from tidings_wire.frames.ephemeral import Subscribe, Unsubscribe
from tidings_wire.frames.structs import ErrorBody

MAX_SUBSCRIPTIONS: Final = 100
"""In a frame."""

_log = logging.getLogger("tidings_sdk")

type _Part = Subscribe | Unsubscribe


@final
class Subscriptions:
    """A subscription is of a connection: `on_live` begins anew, whatever was told before."""

    def __init__(self, asking: RequestSender, start: Callable[..., object]) -> None:
        self._asking = asking
        self._start = start
        self._chats: dict[str, None] = {}
        self._users: dict[str, None] = {}
        self._subscribed_chats: set[str] = set()
        self._subscribed_users: set[str] = set()
        self._is_live = self._is_running = False
        self._lives = 0
        self._most = MAX_SUBSCRIPTIONS

    def watch(self, *, chats: Iterable[str] = (), users: Iterable[str] = ()) -> None:
        self._chats.update(dict.fromkeys(chats))
        self._users.update(dict.fromkeys(users))
        self._wake()

    def unwatch(self, *, chats: Iterable[str] = (), users: Iterable[str] = ()) -> None:
        for names, gone in ((self._chats, chats), (self._users, users)):
            for name in gone:
                names.pop(name, None)
        self._wake()

    def is_watched(self, chat: str) -> bool:
        return chat in self._chats

    def on_live(self) -> None:
        """Also after a `resume` on the same connection: signs may have been missed like everything else."""
        self._is_live, self._most = True, MAX_SUBSCRIPTIONS
        self._lives += 1
        self._subscribed_chats.clear()
        self._subscribed_users.clear()
        self._wake()

    def on_disconnected(self) -> None:
        self._is_live = False

    def _wake(self) -> None:
        if self._is_live and not self._is_running and self._next() is not None:
            self._is_running = True
            self._start(self._run())

    async def _run(self) -> None:
        backoff = Backoff(random.random)
        try:
            while self._is_live and (part := self._next()) is not None:
                await self._send_subscriptions(part, backoff)
        finally:
            self._is_running = False

    async def _send_subscriptions(self, part: _Part, backoff: Backoff) -> None:
        life = self._lives
        try:
            answer = await self._asking.ask(part)
        except RequestTimeout:
            # most likely the connection is gone; if it is not, it is asked again
            answer = ErrorBody(code="not_answered", message="", retryable=True)
        if life != self._lives:
            return
        if not isinstance(answer, ErrorBody):
            self._done(part)
        elif answer.retryable:
            await asyncio.sleep(backoff.wait_s(asyncio.get_running_loop().time(), answer.retry_after_ms))
        else:
            self._refused(part, answer)

    def _next(self) -> _Part | None:
        chats = tuple(islice((c for c in self._chats if c not in self._subscribed_chats), self._most))
        room = self._most if self._most > 1 else 1 - len(chats)
        users = tuple(islice((u for u in self._users if u not in self._subscribed_users), room))
        if chats or users:
            return Subscribe(chats=chats, users=users)
        chats = tuple(islice(self._subscribed_chats - self._chats.keys(), self._most))
        users = tuple(islice(self._subscribed_users - self._users.keys(), self._most))
        return Unsubscribe(chats=chats, users=users) if chats or users else None

    def _done(self, part: _Part) -> None:
        if isinstance(part, Subscribe):
            self._subscribed_chats.update(part.chats)
            self._subscribed_users.update(part.users)
        else:
            self._subscribed_chats.difference_update(part.chats)
            self._subscribed_users.difference_update(part.users)

    def _refused(self, part: _Part, error: ErrorBody) -> None:
        """One name that is refused must not cost the others theirs: they go one by one from here on."""
        if isinstance(part, Unsubscribe) or error.code == "unknown_request":
            self._is_live = False
        elif len(part.chats) + len(part.users) > 1:
            self._most = 1
        else:
            _log.info("Not watched: %s (%s)", part, error.code)
            self._done(part)
