"""One subscription to one channel: stands, or is lost. Which node it is at is no concern of the subscriber."""

import asyncio
from collections.abc import Callable

from tidings.platform.redis.errors import UnreachableError
from tidings.platform.redis.events import (
    ChannelEvent,
    ChannelHandler,
    ChannelLost,
    ChannelMessage,
    ChannelSubscribed,
)
from tidings.platform.redis.keys import Key, slot


class ChannelSubscription:
    """Its sink gets `ChannelSubscribed`, messages, `ChannelLost`, `ChannelSubscribed`, messages …; each loss is told once."""

    def __init__(
        self,
        channel: Key,
        sink: ChannelHandler,
        confirm_s: float,
        on_close: Callable[["ChannelSubscription"], None],
    ) -> None:
        self.channel = channel
        self.slot = slot(channel)
        self.is_subscribed = False
        self.is_closed = False
        self._sink = sink
        self._confirm_s = confirm_s
        self._on_close = on_close
        self._loop = asyncio.get_running_loop()
        self._confirmed = asyncio.Event()
        self._asked_at, self._stood_at = self._loop.time(), 0.0
        self._lost_since: float | None = None
        self.trouble = "not confirmed yet"

    @property
    def is_overdue(self) -> bool:
        """It does not stand, and that is not because it was asked for a moment ago."""
        is_new = not self._stood_at and self._loop.time() - self._asked_at < self._confirm_s
        return not self.is_subscribed and not is_new

    async def confirmed(self) -> None:
        """Wait for the server's word; without it in time, or if the caller leaves, nothing is subscribed."""
        try:
            async with asyncio.timeout(self._confirm_s):
                await self._confirmed.wait()
        except TimeoutError:
            self.close()
            raise UnreachableError(
                f"{self.channel}: not confirmed in {self._confirm_s} s: {self.trouble}"
            ) from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """No event comes after this."""
        if not self.is_closed:
            self.is_closed = True
            self._on_close(self)
            self.is_subscribed = False

    def deliver(self, payload: bytes) -> None:
        self._notify(ChannelMessage(payload))

    def stand(self) -> None:
        self.is_subscribed, self.trouble, self._stood_at = True, "", self._loop.time()
        self._confirmed.set()
        self._notify(ChannelSubscribed(self._stood_at, self._lost_since))

    def lose(self, proven_at: float, reason: str) -> None:
        """It stood, and the last proof of that is as old as this."""
        if self.is_subscribed:
            self.is_subscribed, self.trouble = False, reason
            self._lost_since = max(proven_at, self._stood_at)
            self._notify(ChannelLost(self._lost_since, reason))

    def _notify(self, event: ChannelEvent) -> None:
        if self.is_closed:
            return
        try:
            self._sink(event)
        except Exception as error:  # noqa: BLE001 - the connection and its other subscribers must not suffer
            context = {"message": f"the subscriber of {self.channel} failed", "exception": error}
            self._loop.call_exception_handler(context)
