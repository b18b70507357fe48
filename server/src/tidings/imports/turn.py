"""Let one process import into a tenant at a time.

An import writes entries without conditions. If two wrote the same chat, the slower one could overwrite an entry that a
member has edited or redacted since the faster one let them read it.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple, Protocol

from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError

LEASE_S: Final = 20.0
RENEW_S: Final = 5.0
_POLL_S: Final = 0.5


class LeaseView(NamedTuple):
    """A lease as it was found. Every write of its holder changes `token`."""

    token: int
    is_ours: bool


class ImportLease(Protocol):
    """The lease of a tenant, for one holder. Every method can be repeated."""

    async def take(self, unchanged: int | None = None, /) -> LeaseView:
        """Take the lease if it is free, or if its token is still `unchanged`."""
        ...

    async def renew(self) -> bool:
        """Remain the holder. False: another one has taken the lease."""
        ...

    async def release(self) -> None: ...


class ImportTurn:
    """The right to write. Call `begin`, then `keep` before each write, then `end`."""

    def __init__(self, lease: ImportLease, clock: Clock, *, lease_s: float = LEASE_S) -> None:
        self._lease = lease
        self._clock = clock
        self._lease_s = lease_s
        self._renewed: tuple[float, float] | None = None
        self._renewing = asyncio.Lock()

    async def begin(self, on_wait: Callable[[], None]) -> None:
        """Wait for an import that was killed, up to the end of its lease. Raises `still_running` if one runs.

        `on_wait` is called before it waits.
        """
        found = await self._lease.take()
        if not found.is_ours:
            on_wait()
        seen, since = found.token, self._clock.monotonic()
        while not found.is_ours:
            if found.token != seen:
                raise TidingsError(
                    Code.STILL_RUNNING,
                    "Another import into this tenant is running.",
                    hint="Wait until it is finished, or stop it.",
                )
            await asyncio.sleep(_POLL_S)
            is_expired = self._clock.monotonic() - since >= self._lease_s
            found = await self._lease.take(seen if is_expired else None)
        self._renewed = self._times()

    async def keep(self) -> None:
        """Renew the lease if it is time. Raises `still_running` if another import has taken it over.

        Wall time counts too: on some machines, the monotonic clock stops while they are suspended.
        """
        async with self._renewing:
            if self._renewed is not None and self._is_fresh(self._renewed):
                return
            began = self._times()
            if self._renewed is None or not await self._lease.renew():
                self._renewed = None
                raise TidingsError(
                    Code.STILL_RUNNING,
                    "Another import into this tenant has taken over, because this one did not answer for a time.",
                    hint="Wait until it is finished, and run the command again.",
                )
            self._renewed = began

    async def end(self) -> None:
        """Let another import begin at once. If the tables do not answer, it waits for the end of the lease."""
        if self._renewed is not None:
            self._renewed = None
            with suppress(TidingsError):
                await self._lease.release()

    def _times(self) -> tuple[float, float]:
        return self._clock.monotonic(), self._clock.now_ms() / 1000

    def _is_fresh(self, renewed: tuple[float, float]) -> bool:
        return all(now - then < RENEW_S for now, then in zip(self._times(), renewed, strict=True))
