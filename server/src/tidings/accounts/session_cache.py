"""Credentials that ended before their time: what is written of them, and how processes learn of it.

Whoever ends a session, suspends a user or retires a key writes a revocation in the same transaction. Every process
reads the newest revocations every `POLL_S`, so the bound does not depend on Redis or on any announcement.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, Protocol, final

from msgspec import Struct

from tidings.accounts.model import Principal, Session, SessionId
from tidings.accounts.ports import SessionStore
from tidings.accounts.rules import rejected_for
from tidings.accounts.users import UserAdmission
from tidings.kernel.cache import Cache, CachePolicy
from tidings.kernel.clock import Clock
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import TenantId, UserId

POLL_S: Final = 2.0
WINDOW_MS: Final = 120_000
"""How far back each look reads: so far apart may the clocks of writer and reader be. Tokens allow less."""
REPEAT_AFTER_MS: Final = 5_000
"""A revocation is handled twice. A read that was under way at the first time may have cached what was before, and a
device may have been verified by it; by the second time both are there to be found."""


class Revocation(Struct, frozen=True, kw_only=True):
    """Of a session, of all of a user's credentials, or of a signing key (`kid`), from `from_ms` on."""

    tenant: TenantId
    user: UserId | None = None
    session: SessionId | None = None
    kid: str | None = None
    from_ms: int


class RevocationLog(Protocol):
    async def since(self, at_ms: int, /) -> Sequence[tuple[str, Revocation]]:
        """Read all revocations written since then, each under a name of its own. Strong."""
        ...


type OnRevocations = Callable[[Sequence[Revocation]], Awaitable[None]]


@final
class RevocationWatch:
    """Belongs to the event loop that it is used in."""

    def __init__(self, log: RevocationLog, clock: Clock, event: OnRevocations) -> None:
        self._log = log
        self._clock = clock
        self._on_revocations = event
        self._known: dict[str, Revocation] = {}
        self._due_ms: dict[str, float] = {}

    async def run(self) -> None:
        while True:
            await asyncio.sleep(POLL_S)
            await self.poll()

    async def poll(self) -> None:
        """Without an answer from the table there is nothing new to know: the next look reads the same time again."""
        now_ms = self._clock.now_ms()
        try:
            found = dict(await self._log.since(now_ms - WINDOW_MS))
        except TidingsError:
            return
        for name in found.keys() - self._known.keys():
            self._known[name], self._due_ms[name] = found[name], found[name].from_ms
        due = [name for name, due_ms in self._due_ms.items() if due_ms <= now_ms]
        if due:
            await self._on_revocations([self._known[name] for name in due])
        for name in due:
            is_first = self._due_ms[name] == self._known[name].from_ms
            self._due_ms[name] = now_ms + REPEAT_AFTER_MS if is_first else math.inf
        self._tidy(found.keys())

    def _tidy(self, found: AbstractSet[str]) -> None:
        """Forget what was handled twice and is no longer read."""
        for name in [name for name, due_ms in self._due_ms.items() if due_ms == math.inf]:
            if name not in found:
                del self._known[name], self._due_ms[name]


type _Key = tuple[TenantId, SessionId]


class SessionCache:
    def __init__(
        self, rows: SessionStore, users: UserAdmission, clock: Clock, *, kept_s: float, count: int = 100_000
    ) -> None:
        self._rows = rows
        self._users = users
        self._clock = clock
        self._cache: Cache[_Key, Session] = Cache(
            self._load, clock, CachePolicy(fresh_s=kept_s, count=count, absent_count=count)
        )

    async def validate(self, principal: Principal) -> None:
        """Raises `credential_invalid` for one that is over. Who has no session is not asked about one."""
        if principal.session is None:
            return
        row = await self._cache.get((principal.tenant, principal.session))
        if row is None or row.user != principal.user or row.device.id != principal.device:
            raise _ended(principal)
        user = await self._users.of(row.tenant, row.user)
        if row.epoch != user.sessions_epoch or self._clock.now_ms() >= row.expires_at_ms:
            raise _ended(principal)

    def evict(self, tenant: TenantId, session: SessionId) -> None:
        """Read it again at the next call: it was ended."""
        self._cache.evict((tenant, session))

    async def _load(self, key: _Key) -> Session | None:
        # one that began a moment ago may not be there yet; a read that is strong tells it from one that is over
        return await self._rows.peek(*key) or await self._rows.read(*key)


def _ended(principal: Principal) -> TidingsError:
    return rejected_for(
        "the session has ended",
        tenant=principal.tenant,
        user=principal.user or "",
        subject=principal.session or "",
    )
