"""The credential: a string that stays, or a provider that is asked when there is none, or the last one is over."""

from collections.abc import Awaitable, Callable
from typing import final

type Provider = Callable[[], Awaitable[str]]


@final
class Credentials:
    """Kept over reconnects: when a server ends, its devices come back at once, and not all through the login too."""

    def __init__(self, source: str | Provider) -> None:
        self._source = source
        self._held = source if isinstance(source, str) else None
        self.is_fresh = True

    async def get(self) -> str:
        if self._held is None:
            assert not isinstance(self._source, str)  # noqa: S101 - a string is held from the start
            self._held = await self._source()
            self.is_fresh = True
        return self._held

    def was_good(self) -> None:
        self.is_fresh = False

    def can_renew(self) -> bool:
        return not isinstance(self._source, str)

    def renew(self) -> None:
        """The next `get` asks anew."""
        self._held = None if self.can_renew() else self._held
