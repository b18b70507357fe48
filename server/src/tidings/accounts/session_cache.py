"""Check that sessions are active, and watch the revocation log.

Ending a session, suspending a user and retiring a key write a revocation in the same transaction. Every process reads
the newest revocations every `POLL_S`, so the delay does not depend on Redis.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, final

from tidings.accounts.model import Principal, Revocation, Session, SessionId
from tidings.accounts.ports import ReadRevocations, SessionStore
from tidings.accounts.rules import rejected_for
from tidings.accounts.session_tokens import AccessTokenService
from tidings.accounts.users import UserAdmission
from tidings.kernel.cache import Cache, CachePolicy
from tidings.kernel.clock import Clock
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import TenantId

POLL_S: Final = 2.0
WINDOW_MS: Final = 120_000
"""How far back each poll reads: the maximum difference between the clocks of writer and reader. Tokens allow less."""
REPEAT_AFTER_MS: Final = 5_000
"""Delay after which a revocation is handled a second time. Race: a read that was in flight at the first time caches the
old state, and a device authenticates with it. The second time evicts that state and finds that device."""


type OnRevocations = Callable[[Sequence[Revocation]], Awaitable[None]]


@final
class RevocationWatch:
    """Poll the revocation log and call `on_revocations` twice for each revocation. Use it from one event loop."""

    def __init__(self, read: ReadRevocations, clock: Clock, on_revocations: OnRevocations) -> None:
        self._read = read
        self._clock = clock
        self._on_revocations = on_revocations
        self._known: dict[str, Revocation] = {}
        self._due_ms: dict[str, float] = {}

    async def run(self) -> None:
        while True:
            await asyncio.sleep(POLL_S)
            await self.poll()

    async def poll(self) -> None:
        """Handle revocations that are due. If DynamoDB is unavailable, the next poll reads the same window again."""
        now_ms = self._clock.now_ms()
        try:
            found = dict(await self._read(now_ms - WINDOW_MS))
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
        self._forget_handled(found.keys())

    def _forget_handled(self, found: AbstractSet[str]) -> None:
        """Forget revocations that were handled twice and are outside the window."""
        for name in [name for name, due_ms in self._due_ms.items() if due_ms == math.inf]:
            if name not in found:
                del self._known[name], self._due_ms[name]


type _Key = tuple[TenantId, SessionId]


class SessionCache:
    """Check sessions through a cache: an ended session is refused within `kept_s`, or when it is evicted."""

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
        """Raise `credential_invalid` if the principal's session has ended. Accept principals without a session."""
        if principal.session is None:
            return
        row = await self._cache.get((principal.tenant, principal.session))
        if row is None or row.user != principal.user or row.device.id != principal.device:
            raise _ended(principal)
        user = await self._users.of(row.tenant, row.user)
        if row.epoch != user.sessions_epoch or self._clock.now_ms() >= row.expires_at_ms:
            raise _ended(principal)

    def evict(self, tenant: TenantId, session: SessionId) -> None:
        """Read the session again at the next call."""
        self._cache.evict((tenant, session))

    async def _load(self, key: _Key) -> Session | None:
        # An eventually consistent read may miss a session that was just created. The strong read decides.
        return await self._rows.peek(*key) or await self._rows.read(*key)


class SessionTokenVerifier:
    """Verify access tokens of active sessions."""

    def __init__(self, access: AccessTokenService, sessions: SessionCache) -> None:
        self._access = access
        self._sessions = sessions

    async def verify(self, bearer: str, /) -> Principal:
        principal = await self._access.verify(bearer)
        await self._sessions.validate(principal)
        return principal

    async def recheck(self, principal: Principal, /) -> None:
        await self._sessions.validate(principal)

    def evict(self, revocation: Revocation, /) -> None:
        if revocation.session is not None:
            self._sessions.evict(revocation.tenant, revocation.session)


def _ended(principal: Principal) -> TidingsError:
    return rejected_for(
        "the session has ended",
        tenant=principal.tenant,
        user=principal.user or "",
        subject=principal.session or "",
    )
