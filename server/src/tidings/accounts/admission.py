"""Whether a user whose credential was verified may act: they exist from here on, and are not suspended.

From a cache, so that a known user costs one read in `fresh_s` and process, not one per request.
"""

from tidings.accounts.model import Principal
from tidings.accounts.records import User
from tidings.accounts.refusals import rejected_for
from tidings.accounts.users import UserService
from tidings.kernel.caching import Cache, CachePolicy
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId

ADMISSION_CACHE = CachePolicy(fresh_s=5.0, outage_s=60.0, retry_s=1.0, count=100_000)


class UserAdmission:
    """Belongs to the event loop that it is used in."""

    def __init__(self, users: UserService, clock: Clock, policy: CachePolicy = ADMISSION_CACHE) -> None:
        self._users = users
        self._cache: Cache[tuple[TenantId, UserId], User] = Cache(self._load, clock, policy)

    async def of(self, tenant: TenantId, user: UserId) -> User:
        """The user, at most `fresh_s` old; created if nobody knew them. Simultaneous calls share one load."""
        found = await self._cache.get((tenant, user))
        if found is None:
            raise rejected_for("there is no such user", tenant=tenant, user=user)
        return found

    async def check(self, principal: Principal) -> None:
        """Raise `forbidden` for a suspended user, `credential_invalid` for a token from before their sign-out."""
        if principal.user is None:
            return
        user = await self.of(principal.tenant, principal.user)
        if user.suspended_at_ms is not None:
            raise TidingsError(Code.FORBIDDEN, "The user is suspended.")
        # a session has the user's epoch for this, which knows no clock
        if principal.session is None and user.not_before_ms is not None:
            issued_at_ms = principal.issued_at_ms
            if issued_at_ms is None or issued_at_ms < user.not_before_ms:
                reason = "token from before the sign-out"
                raise rejected_for(reason, tenant=principal.tenant, user=principal.user)

    def evict(self, tenant: TenantId, user: UserId) -> None:
        """Read the user again at the next call: something about them was changed."""
        self._cache.evict((tenant, user))

    async def _load(self, key: tuple[TenantId, UserId]) -> User | None:
        return await self._users.admitted(*key)
