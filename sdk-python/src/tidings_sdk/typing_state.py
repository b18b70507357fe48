"""Who types where, and when one's own typing is told. Pure: time comes in.

Any sign may be lost, so each ends by itself: after some seconds without another one, and when the message is there.
"""

from math import inf
from typing import Final, final

ENDS_AFTER_S: Final = 6.0
TYPING_EVERY_S: Final = 3.5
"""The server passes on one in three seconds; what comes sooner is lost on it."""


@final
class TypingUsers:
    """Others. Changes say if there was one."""

    def __init__(self) -> None:
        self._until: dict[tuple[str, str], float] = {}

    def of(self, chat: str) -> tuple[str, ...]:
        return tuple(sorted(user for where, user in self._until if where == chat))

    def on_typing(self, chat: str, user: str, now: float) -> bool:
        is_new = (chat, user) not in self._until
        self._until[chat, user] = now + ENDS_AFTER_S
        return is_new

    def stopped(self, chat: str, user: str) -> bool:
        """He said so, or what he typed is there."""
        return self._until.pop((chat, user), None) is not None

    def end_those_due(self, now: float) -> set[str]:
        """The chats in which somebody's time is over."""
        over = [key for key, until in self._until.items() if until <= now]
        for key in over:
            del self._until[key]
        return {chat for chat, _ in over}

    def clear(self) -> set[str]:
        return self.end_those_due(inf)

    @property
    def due_at(self) -> float:
        return min(self._until.values(), default=inf)


@final
class TypingSender:
    """May be asked at every key; says what is to be told: that it begins (True), that it ends (False), or nothing."""

    def __init__(self) -> None:
        self._told_at: dict[str, float] = {}
        self._sent: set[str] = set()

    def begins(self, chat: str, now: float) -> tuple[bool, ...]:
        """Soon after a message the server would take it for the same typing, which it does not pass on so soon."""
        is_soon = now - self._told_at.get(chat, -inf) < TYPING_EVERY_S
        if is_soon and chat not in self._sent:
            return ()
        self._told_at[chat] = now
        self._sent.discard(chat)
        return (False, True) if is_soon else (True,)

    def ends(self, chat: str, now: float) -> tuple[bool, ...]:
        """Told only while others still see it. A message has ended it before, which the server does not know."""
        if chat in self._sent:
            return ()
        is_seen = now - self._told_at.pop(chat, -inf) < ENDS_AFTER_S
        return (False,) if is_seen else ()

    def sent(self, chat: str) -> None:
        """The message itself ends it for others."""
        if chat in self._told_at:
            self._sent.add(chat)
