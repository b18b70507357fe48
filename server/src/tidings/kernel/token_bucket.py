"""A token bucket that goes into debt: who is a little too fast is told so, who goes on regardless is cut off."""

from typing import final


@final
class TokenBucket:
    """`per_s` come in, at most `burst` are kept. Time is given, so that a test can hold it still."""

    __slots__ = ("_at", "_burst", "_per_s", "tokens")

    def __init__(self, per_s: float, burst: int, now: float) -> None:
        self._per_s = per_s
        self._burst = burst
        self._at = now
        self.tokens = float(burst)

    def take(self, now: float) -> bool:
        """False: there was none, and the debt grows. It never grows below one burst."""
        passed = max(0.0, now - self._at)
        self._at = max(self._at, now)
        self.tokens = min(float(self._burst), self.tokens + passed * self._per_s)
        is_there = self.tokens >= 1
        self.tokens = max(-float(self._burst), self.tokens - 1)
        return is_there

    @property
    def is_exhausted(self) -> bool:
        return self.tokens <= -self._burst

    @property
    def retry_after_ms(self) -> int:
        """Until there is a token again."""
        return max(0, round((1 - self.tokens) / self._per_s * 1000))
