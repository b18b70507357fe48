"""How quickly a device takes what it is sent."""

import asyncio
from typing import Final, Protocol, final

from tidings.gateway.transport.ports import Socket
from tidings_wire.close_codes import CloseCode

MIN_BYTES_PER_S: Final = 8 * 1024
"""A device that takes less than this while the gateway waits for it is closed as a slow one."""
GRACE_S: Final = 5.0
"""Time that the gateway waits for a device before it judges the rate: kernels hand over in bursts."""
_POLL_S: Final = 0.02


class _Closable(Protocol):
    def close(self, code: CloseCode) -> None: ...


class _Device(Protocol):
    is_gone: bool

    @property
    def socket(self) -> Socket: ...
    @property
    def connected(self) -> _Closable: ...


@final
class SlowConsumerGuard:
    """The rate of one device over all the time for which it was waited for in one resume, or in one range.

    Over the whole of it: a device that takes a few bytes now and then can't stretch a resume as long as it likes.
    """

    __slots__ = ("_checked_at", "_taken", "_waited_s", "_waiters", "_waiting")

    def __init__(self) -> None:
        self._taken = 0
        self._waited_s = 0.0
        self._waiters = 0
        self._checked_at = 0.0
        self._waiting = 0

    async def wait(self, device: _Device, until_bytes: int) -> None:
        """Wait until no more than `until_bytes` wait for the device; close it if it is too slow."""
        if not self._waiters:
            self._checked_at, self._waiting = _now(), device.socket.buffered_bytes
        self._waiters += 1
        try:
            while device.socket.buffered_bytes > until_bytes and not device.is_gone:
                await asyncio.sleep(_POLL_S)
                self._check(device.socket.buffered_bytes)
                if self._is_too_slow:
                    device.connected.close(CloseCode.SLOW_CONSUMER)
                    return
        finally:
            self._waiters -= 1

    def _check(self, waiting: int) -> None:
        """Chats that are sent side by side wait side by side: each moment counts once."""
        now = _now()
        self._waited_s += now - self._checked_at
        self._taken += max(0, self._waiting - waiting)
        self._checked_at, self._waiting = now, waiting

    @property
    def _is_too_slow(self) -> bool:
        return self._waited_s > GRACE_S and self._taken < MIN_BYTES_PER_S * self._waited_s


def _now() -> float:
    return asyncio.get_running_loop().time()
