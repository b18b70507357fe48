"""Throttle typing events per chat and device."""

from typing import final


@final
class TypingThrottle:
    __slots__ = ("_chats", "_every_s", "_passed")

    def __init__(self, every_s: float, chats: int) -> None:
        self._every_s = every_s
        self._chats = chats
        self._passed: dict[str, tuple[bool, float]] = {}

    def passes(self, chat: str, now: float, *, is_typing: bool) -> bool:
        """What changes passes at once; what says the same again waits its time."""
        before = self._passed.pop(chat, None)
        if before is not None and before[0] is is_typing and now - before[1] < self._every_s:
            self._passed[chat] = before
            return False
        self._passed[chat] = (is_typing, now)
        if len(self._passed) > self._chats:
            del self._passed[next(iter(self._passed))]
        return True
