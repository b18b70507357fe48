"""Is the session of a verified access token still on? From a cache, so that it costs a read now and then.

A session that was ended is refused everywhere when its revocation was read, and within `kept_s` whatever happens.
"""

from tidings.accounts.admission import UserAdmission
from tidings.accounts.model import Principal, SessionId
from tidings.accounts.ports import SessionStore
from tidings.accounts.records import Session
from tidings.accounts.refusals import rejected_for
from tidings.kernel.caching import Cache, CachePolicy
from tidings.kernel.clock import Clock
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import TenantId

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
