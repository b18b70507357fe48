"""Which users are typing in which chat, and when to send the user's own typing. Without I/O and clock.

Any typing push may be lost, so typing ends automatically: after 6 seconds without another push, and with the message.
"""

from math import inf
from typing import Final, final

ENDS_AFTER_S: Final = 6.0
TYPING_EVERY_S: Final = 3.5
"""The server forwards at most one in three seconds and drops earlier ones."""


@final
class TypingUsers:
    """Other users who are typing. Methods that apply a change return whether the state changed."""

    def __init__(self) -> None:
        self._until: dict[tuple[str, str], float] = {}

    def of(self, chat: str) -> tuple[str, ...]:
        return tuple(sorted(user for typing_chat, user in self._until if typing_chat == chat))

    def on_typing(self, chat: str, user: str, now: float) -> bool:
        is_new = (chat, user) not in self._until
        self._until[chat, user] = now + ENDS_AFTER_S
        return is_new

    def stopped(self, chat: str, user: str) -> bool:
        """End the typing of a user who stopped, or whose message arrived."""
        return self._until.pop((chat, user), None) is not None

    def end_those_due(self, now: float) -> set[str]:
        """End the typing that is due. Return the chats that changed."""
        due = [key for key, until in self._until.items() if until <= now]
        for key in due:
            del self._until[key]
        return {chat for chat, _ in due}

    def clear(self) -> set[str]:
        return self.end_those_due(inf)

    @property
    def due_at(self) -> float:
        return min(self._until.values(), default=inf)


@final
class TypingSender:
    """Decide what to send of the user's own typing: a start (True), an end (False), or nothing.

    The app may call it on every keystroke.
    """

    def __init__(self) -> None:
        self._sent_at: dict[str, float] = {}
        self._message_sent: set[str] = set()

    def begins(self, chat: str, now: float) -> tuple[bool, ...]:
        """Return what to send when the user types.

        Soon after a message, send an end first: the server would take the start for a repeat of the typing before the
        message, and would not forward it.
        """
        is_recent = now - self._sent_at.get(chat, -inf) < TYPING_EVERY_S
        if is_recent and chat not in self._message_sent:
            return ()
        self._sent_at[chat] = now
        self._message_sent.discard(chat)
        return (False, True) if is_recent else (True,)

    def ends(self, chat: str, now: float) -> tuple[bool, ...]:
        """Return what to send when the user stops: an end, if others still see the typing.

        Nothing after a message, which has ended the typing for others already.
        """
        if chat in self._message_sent:
            return ()
        is_seen = now - self._sent_at.pop(chat, -inf) < ENDS_AFTER_S
        return (False,) if is_seen else ()

    def sent(self, chat: str) -> None:
        """Record that a message was sent. It ends the typing for other users."""
        if chat in self._sent_at:
            self._message_sent.add(chat)
