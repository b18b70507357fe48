"""A token bucket. The caller passes the time, so that tests control it."""

from typing import final


@final
class TokenBucket:
    """Gain `per_s` tokens a second, up to `burst`. The bucket can go into debt, down to one burst below zero."""

    __slots__ = ("_burst", "_per_s", "_refilled_at", "tokens")

    def __init__(self, per_s: float, burst: int, now: float) -> None:
        self._per_s = per_s
        self._burst = burst
        self._refilled_at = now
        self.tokens = float(burst)

    def take(self, now: float) -> bool:
        """Take a token and tell whether there was one. Without one the debt grows, so that a client that
        ignores its limit becomes `is_exhausted`.
        """
        self._refill(now)
        had_token = self.tokens >= 1
        self.tokens = max(-float(self._burst), self.tokens - 1)
        return had_token

    def take_if_available(self, now: float, *, overdraft: int = 0) -> bool:
        """Take a token if the bucket is then not more than `overdraft` below zero; else take none."""
        self._refill(now)
        if self.tokens < 1 - overdraft:
            return False
        self.tokens -= 1
        return True

    def has_token(self, now: float) -> bool:
        self._refill(now)
        return self.tokens >= 1

    def is_full(self, now: float) -> bool:
        self._refill(now)
        return self.tokens == self._burst

    @property
    def is_exhausted(self) -> bool:
        return self.tokens <= -self._burst

    @property
    def retry_after_ms(self) -> int:
        """Return how long until there is a token again."""
        return max(0, round((1 - self.tokens) / self._per_s * 1000))

    def _refill(self, now: float) -> None:
        passed_s = max(0.0, now - self._refilled_at)
        self._refilled_at = max(self._refilled_at, now)
        self.tokens = min(float(self._burst), self.tokens + passed_s * self._per_s)
