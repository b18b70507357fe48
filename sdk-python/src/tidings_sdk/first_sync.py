"""Distinguish entries from before the client's first sync from new ones. Without I/O.

The first sync ends when the client is live and the app has processed every entry of it. Positions are stored only from
then on. A client that ends earlier repeats its first sync, and does not report old messages as new.
"""

from typing import final

from tidings_sdk.events import EventOrigin


@final
class FirstSync:
    def __init__(self, *, is_over: bool) -> None:
        self.is_over = is_over
        self._is_live = is_over
        self._up_to: dict[str, int] = {}
        self._waiting = 0

    def saw(self, chat: str, up_to: int) -> None:
        """Record that entries up to `up_to` exist. Before the client is live, all of them are history."""
        if not self._is_live:
            self._up_to[chat] = max(self._up_to.get(chat, 0), up_to)

    def on_live(self) -> None:
        self._is_live = True

    def origin(self, chat: str, sequence: int, *, is_connected: bool) -> EventOrigin:
        if sequence <= self._up_to.get(chat, 0):
            return EventOrigin.HISTORY
        return EventOrigin.LIVE if is_connected else EventOrigin.MISSED

    def gave(self, origin: EventOrigin) -> None:
        self._waiting += origin is EventOrigin.HISTORY

    def took(self, origin: EventOrigin) -> None:
        self._waiting -= origin is EventOrigin.HISTORY

    def finish(self, *, is_behind: bool) -> None:
        """End the first sync if it is complete. `is_behind`: the client still has to read entries from the log."""
        if self._is_live and not self._waiting and not is_behind:
            self.is_over = True

    def restart(self) -> None:
        """Start a new first sync, after the installation was restored."""
        self.is_over = self._is_live = False
        self._up_to.clear()
        self._waiting = 0
