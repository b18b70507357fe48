"""Compute the wait before the next try. Time and randomness are arguments."""

from collections.abc import Callable
from math import inf
from typing import Final, final

FIRST_S: Final = 1.0
LONGEST_S: Final = 30.0
CALM_S: Final = 60.0
"""After a connection that was live this long, the next failure counts as the first."""


@final
class Backoff:
    """Exponential backoff with full jitter, because all clients of a server lose it at the same time.

    `chance` returns random numbers from 0 to 1.
    """

    def __init__(
        self, chance: Callable[[], float], first_s: float = FIRST_S, longest_s: float = LONGEST_S
    ) -> None:
        self._chance = chance
        self._first_s = self._bound_s = first_s
        self._longest_s = longest_s
        self._live_since = inf

    def is_live(self, now: float) -> None:
        self._live_since = now

    def wait_s(self, now: float, retry_after_ms: int | None = None, spread_ms: int = 0) -> float:
        """Return the wait. A delay from the server is used as it is, because the server has spread it already.

        Without one, the wait is random below a bound that doubles with each failure.
        """
        if now - self._live_since >= CALM_S:
            self._bound_s = self._first_s
        self._live_since = inf
        bound_s = self._bound_s
        self._bound_s = min(2 * bound_s, self._longest_s)
        if retry_after_ms is not None:
            return (retry_after_ms + spread_ms * self._chance()) / 1000
        return bound_s * self._chance()
