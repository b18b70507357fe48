"""A token bucket that keeps the client below the rate limit of the server. Without I/O."""

from typing import Final, final

_SHARE: Final = 0.8
"""The share of the limit that requests use. The rest is for heartbeats and clock differences."""


@final
class TokenBucket:
    def __init__(self, frames_per_s: int, burst: int, now: float) -> None:
        self._rate = max(frames_per_s * _SHARE, 0.1)
        self._most = self._left = max(burst * _SHARE, 1.0)
        self._at = now

    def take(self, now: float) -> float:
        """Take a token and return 0. If there is none, take nothing and return the seconds until the next one."""
        self._left = min(self._most, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left >= 1:
            self._left -= 1
            return 0.0
        return (1 - self._left) / self._rate
