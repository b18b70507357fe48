"""Measure how fast a device reads."""

import asyncio
from collections.abc import Callable
from typing import Final, final

from tidings.gateway.transport.ports import Socket

MIN_BYTES_PER_S: Final = 8 * 1024
"""A device that reads less than this while the gateway waits for it is a slow consumer."""
GRACE_S: Final = 5.0
"""Time that the gateway waits for a device before it checks the rate: kernels pass data on in bursts."""
_POLL_S: Final = 0.02


@final
class SlowConsumerGuard:
    """Measure the rate of one device during one resume or one catch-up.

    The rate is the average over all waits together. A device that reads a few bytes from time to time can therefore
    not prolong a resume without limit.
    """

    __slots__ = ("_buffered", "_checked_at", "_taken", "_waited_s", "_waiters")

    def __init__(self) -> None:
        self._taken = 0
        self._waited_s = 0.0
        self._waiters = 0
        self._checked_at = 0.0
        self._buffered = 0

    async def wait(self, socket: Socket, until_bytes: int, is_gone: Callable[[], bool]) -> bool:
        """Wait until at most `until_bytes` are buffered, or the device has left. Return False if it is too slow."""
        if not self._waiters:
            self._checked_at, self._buffered = _now(), socket.buffered_bytes
        self._waiters += 1
        try:
            while socket.buffered_bytes > until_bytes and not is_gone():
                await asyncio.sleep(_POLL_S)
                self._measure(socket.buffered_bytes)
                if self._is_too_slow:
                    return False
        finally:
            self._waiters -= 1
        return True

    def _measure(self, buffered: int) -> None:
        # A resume sends several chats concurrently, so several tasks wait here. They share `_checked_at`, so that
        # each moment counts once.
        now = _now()
        self._waited_s += now - self._checked_at
        self._taken += max(0, self._buffered - buffered)
        self._checked_at, self._buffered = now, buffered

    @property
    def _is_too_slow(self) -> bool:
        return self._waited_s > GRACE_S and self._taken < MIN_BYTES_PER_S * self._waited_s


def _now() -> float:
    return asyncio.get_running_loop().time()
