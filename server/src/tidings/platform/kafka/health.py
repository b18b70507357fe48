"""Whether brokers answer, in words. Fed from several threads; asking never waits."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from tidings.platform.kafka.connection import log

type MonotonicClock = Callable[[], float]

QUIET_S = 10.0


@dataclass(frozen=True, slots=True)
class KafkaHealth:
    """`reason` is for people, and empty while all is well."""

    is_ok: bool
    reason: str = ""


class KafkaHealthTracker:
    """Remembers the last answer and the last error of one client."""

    def __init__(self, who: str, *, quiet_s: float = QUIET_S, clock: MonotonicClock = time.monotonic) -> None:
        self._who = who
        self._quiet_s = quiet_s
        self._clock = clock
        self._answered_at = clock()
        self._has_answered = False
        self._last_error = ""
        self._is_told = False

    def answered(self) -> None:
        self._answered_at = self._clock()
        self._has_answered = True
        if self._is_told:
            self._is_told = False
            log.info("%s: brokers answer again", self._who)

    def failed(self, error: str) -> None:
        self._last_error = error
        if not self.status().is_ok and not self._is_told:
            self._is_told = True
            log.warning("%s: %s", self._who, self.status().reason)

    def status(self) -> KafkaHealth:
        """Well until brokers have been silent for `quiet_s`; the time since the start counts as silence too."""
        silent_s = self._clock() - self._answered_at
        if silent_s < self._quiet_s and (self._has_answered or not self._last_error):
            return KafkaHealth(is_ok=True)
        because = f"; last error: {self._last_error}" if self._last_error else ""
        return KafkaHealth(is_ok=False, reason=f"no broker answered for {silent_s:.0f} s{because}")
