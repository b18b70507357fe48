"""Which entries were in the logs before this client first came. Pure.

The first sync is over when the client has gone live and the app has taken every entry of it. Positions are stored from
then on, so a client that ends earlier begins its first sync again and takes no old message for news.
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
        """The server told of entries up to here. Before the client is live they are all history."""
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
        """`is_behind`: entries are still to be read from the log."""
        if self._is_live and not self._waiting and not is_behind:
            self.is_over = True

    def restart(self) -> None:
        """The installation was restored: the client knows nothing any more."""
        self.is_over = self._is_live = False
        self._up_to.clear()
        self._waiting = 0
