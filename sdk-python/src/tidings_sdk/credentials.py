"""The credential: a fixed string, or a provider that is called for the first one and after one expires."""

from collections.abc import Awaitable, Callable
from typing import final

type Provider = Callable[[], Awaitable[str]]


@final
class Credentials:
    """Keep the credential across reconnects.

    When a server stops, all of its devices reconnect; they must not all log in again as well.
    """

    def __init__(self, source: str | Provider) -> None:
        self._source = source
        self._held = source if isinstance(source, str) else None
        self.is_fresh = True

    async def get(self) -> str:
        if self._held is None:
            assert not isinstance(self._source, str)  # noqa: S101 - a string is available from the start
            self._held = await self._source()
            self.is_fresh = True
        return self._held

    def was_good(self) -> None:
        self.is_fresh = False

    def can_renew(self) -> bool:
        return not isinstance(self._source, str)

    def renew(self) -> None:
        """Call the provider at the next `get`. A fixed string stays."""
        self._held = None if self.can_renew() else self._held
