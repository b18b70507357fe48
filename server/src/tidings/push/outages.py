"""Remember which providers fail, so that their requests do not delay those of others."""

from collections import OrderedDict

from tidings.kernel.clock import Clock

_FAILURES = 5
_FIRST_S, _LONGEST_S = 2.0, 60.0
_MAX_PROVIDERS = 10_000


class OutageTracker:
    """A circuit breaker for each provider. After five failures in a row, requests are postponed for a growing time.

    After that time, one request is sent; if it fails, the next time is twice as long.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failing: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def postponed_s(self, provider: str) -> float:
        """Return how long requests are postponed; 0: send it. The caller must report the result of what it sends."""
        count, until = self._failing.get(provider, (0, 0.0))
        wait_s = until - self._clock.monotonic()
        if count < _FAILURES or wait_s > 0:
            return max(0.0, wait_s)
        # Others wait for the result of this request.
        self._failing[provider] = (count, self._clock.monotonic() + self._pause_s(count))
        return 0.0

    def failed(self, provider: str) -> None:
        count, until = self._failing.pop(provider, (0, 0.0))
        count += 1
        if count >= _FAILURES:
            until = self._clock.monotonic() + self._pause_s(count)
        self._failing[provider] = (count, until)
        while len(self._failing) > _MAX_PROVIDERS:
            self._failing.popitem(last=False)

    def succeeded(self, provider: str) -> None:
        self._failing.pop(provider, None)

    @property
    def failing(self) -> int:
        """Return the number of providers whose requests are postponed."""
        return sum(count >= _FAILURES for count, _ in self._failing.values())

    @staticmethod
    def _pause_s(count: int) -> float:
        doublings = min(max(0, count - _FAILURES) // _FAILURES, 10)
        return float(min(_LONGEST_S, _FIRST_S * 2**doublings))
