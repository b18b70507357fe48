"""Not faster than the server said it takes: a token bucket. Pure."""

from typing import Final, final

_SHARE: Final = 0.8
"""The rest is for heartbeats, and for clocks that differ."""


@final
class TokenBucket:
    def __init__(self, frames_per_s: int, burst: int, now: float) -> None:
        self._rate = max(frames_per_s * _SHARE, 0.1)
        self._most = self._left = max(burst * _SHARE, 1.0)
        self._at = now

    def take(self, now: float) -> float:
        """0: go on. Else how many seconds from now there will be a place; none is taken."""
        self._left = min(self._most, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left >= 1:
            self._left -= 1
            return 0.0
        return (1 - self._left) / self._rate
