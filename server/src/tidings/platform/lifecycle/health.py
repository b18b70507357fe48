"""What a component says of itself: well or not, why in words, and since when."""

from dataclasses import dataclass
from datetime import datetime

from tidings.kernel.clock import Clock
from tidings.platform.telemetry.masking import SizeLimits, mask_text

_ERROR_BOUNDS = SizeLimits(value_chars=300)


@dataclass(frozen=True, slots=True)
class Health:
    """`reason` is for people; it stands in `/readyz` and in the log."""

    ok: bool
    reason: str
    since: datetime


class HealthTracker:
    """Follows something that answers or does not. `complaint` is what to say when it does not."""

    def __init__(self, clock: Clock, complaint: str, *, patience: int = 1) -> None:
        self._clock = clock
        self._complaint = complaint
        self._failure_threshold = patience
        self._misses = patience
        self._last_error = ""
        self._quiet_from = clock.monotonic()
        self._since = clock.now()

    @property
    def ok(self) -> bool:
        return self._misses < self._failure_threshold

    def answered(self) -> None:
        if not self.ok:
            self._since = self._clock.now()
        self._misses = 0
        self._quiet_from = self._clock.monotonic()

    def failed(self, error: str) -> None:
        """One miss in a row too many, and it is not well. Before the first answer it never was."""
        was_ok = self.ok
        self._misses += 1
        self._last_error = error
        if was_ok and not self.ok:
            self._since = self._clock.now()

    def health(self) -> Health:
        return Health(self.ok, "" if self.ok else self._text(), self._since)

    def _text(self) -> str:
        quiet_s = self._clock.monotonic() - self._quiet_from
        last = f"; last error: {self._last_error}" if self._last_error else ""
        return f"{self._complaint} for {quiet_s:.0f} s{last}"


def describe_error(error: BaseException) -> str:
    """An error in one bounded line without secrets."""
    text = " ".join(str(error).split())
    return mask_text(f"{type(error).__name__}: {text}" if text else type(error).__name__, _ERROR_BOUNDS)
