"""Is the session of a verified access token still on? From a cache, so that it costs a read now and then.

A session that was ended is refused everywhere within `kept_s`; without this check, when its token's life is over.
"""

from tidings.accounts.model import Principal, SessionId
from tidings.accounts.ports import SessionRows, UserRows
from tidings.accounts.records import Session
from tidings.accounts.rules import refused
from tidings.accounts.sessions import is_on
from tidings.kernel.caching import Cache, Keep
from tidings.kernel.clock import Clock
from tidings.kernel.ids import TenantId

type _Key = tuple[TenantId, SessionId]


class LiveSessions:
    def __init__(
        self, rows: SessionRows, users: UserRows, clock: Clock, *, kept_s: float, count: int = 100_000
    ) -> None:
        self._rows = rows
        self._users = users
        self._clock = clock
        self._cache: Cache[_Key, Session] = Cache(
            self._load, clock, Keep(fresh_s=kept_s, count=count, absent_count=count)
        )

    async def validate(self, principal: Principal) -> None:
        """Raises `credential_invalid` for one that is over. Who has no session is not asked about one."""
        if principal.session is None:
            return
        row = await self._cache.get((principal.tenant, principal.session))
        if row is None or row.user != principal.user or row.device.id != principal.device:
            raise refused()
        if self._clock.now_ms() >= row.expires_at_ms:
            raise refused()

    def forget(self, tenant: TenantId, session: SessionId) -> None:
        """For the process that has just ended it."""
        self._cache.forget((tenant, session))

    async def _load(self, key: _Key) -> Session | None:
        # one that began a moment ago may not be there yet; a read that is strong tells it from one that is over
        row = await self._rows.peek(*key) or await self._rows.read(*key)
        if row is None:
            return None
        user = await self._users.confirm(row.tenant, row.user)
        return row if user is not None and is_on(row, user, self._clock.now_ms()) else None
