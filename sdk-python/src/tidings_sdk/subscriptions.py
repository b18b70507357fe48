"""Subscribe each new connection to the watched chats and users, in parts that fit into a frame."""

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
"""Maximum of chats, and of users, in a frame."""

_log = logging.getLogger("tidings_sdk")

type _Part = Subscribe | Unsubscribe


@final
class Subscriptions:
    """The subscriptions of the current connection. They end with it, so `on_live` sends all of them again."""

    def __init__(self, asking: RequestSender, start: Callable[..., object]) -> None:
        self._asking = asking
        self._start = start
        self._chats: dict[str, None] = {}
        self._users: dict[str, None] = {}
        self._subscribed_chats: set[str] = set()
        self._subscribed_users: set[str] = set()
        self._is_live = self._is_running = False
        self._live_count = 0
        self._max_names = MAX_SUBSCRIPTIONS

    def watch(self, *, chats: Iterable[str] = (), users: Iterable[str] = ()) -> None:
        self._chats.update(dict.fromkeys(chats))
        self._users.update(dict.fromkeys(users))
        self._wake()

    def unwatch(self, *, chats: Iterable[str] = (), users: Iterable[str] = ()) -> None:
        for names, removed in ((self._chats, chats), (self._users, users)):
            for name in removed:
                names.pop(name, None)
        self._wake()

    def is_watched(self, chat: str) -> bool:
        return chat in self._chats

    def on_live(self) -> None:
        """Subscribe to everything again, also after a `resume` on the same connection: events may be lost."""
        self._is_live, self._max_names = True, MAX_SUBSCRIPTIONS
        self._live_count += 1
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
        live_count = self._live_count
        try:
            answer = await self._asking.ask(part)
        except RequestTimeout:
            # Most likely the connection is lost, and the next one subscribes again. Otherwise retry.
            answer = ErrorBody(code="not_answered", message="", retryable=True)
        if live_count != self._live_count:
            return
        if not isinstance(answer, ErrorBody):
            self._done(part)
        elif answer.retryable:
            await asyncio.sleep(backoff.wait_s(asyncio.get_running_loop().time(), answer.retry_after_ms))
        else:
            self._refused(part, answer)

    def _next(self) -> _Part | None:
        chats = tuple(islice((c for c in self._chats if c not in self._subscribed_chats), self._max_names))
        max_users = self._max_names if self._max_names > 1 else 1 - len(chats)
        users = tuple(islice((u for u in self._users if u not in self._subscribed_users), max_users))
        if chats or users:
            return Subscribe(chats=chats, users=users)
        chats = tuple(islice(self._subscribed_chats - self._chats.keys(), self._max_names))
        users = tuple(islice(self._subscribed_users - self._users.keys(), self._max_names))
        return Unsubscribe(chats=chats, users=users) if chats or users else None

    def _done(self, part: _Part) -> None:
        if isinstance(part, Subscribe):
            self._subscribed_chats.update(part.chats)
            self._subscribed_users.update(part.users)
        else:
            self._subscribed_chats.difference_update(part.chats)
            self._subscribed_users.difference_update(part.users)

    def _refused(self, part: _Part, error: ErrorBody) -> None:
        """Handle a refused part. One refused name must not block the others: send them one by one from now on."""
        if isinstance(part, Unsubscribe) or error.code == "unknown_request":
            self._is_live = False
        elif len(part.chats) + len(part.users) > 1:
            self._max_names = 1
        else:
            _log.info("Not watched: %s (%s)", part, error.code)
            self._done(part)
