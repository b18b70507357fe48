"""Which credentials were valid a moment ago, so that a flood of bad ones from the same address does not shut them out.

This only decides whether a credential is looked at; it is verified in full with every request.
"""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable

from tidings.api.services import ApiLimits, RateLimitState
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId

_TTL_S = 60.0
_MAX_COUNT = 10_000


class RecentCredentials:
    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._until = OrderedDict[bytes, float]()

    def has(self, credential: str) -> bool:
        return self._until.get(_digest(credential), 0.0) > self._now_s()

    def add(self, credential: str) -> None:
        digest = _digest(credential)
        self._until[digest] = self._now_s() + _TTL_S
        self._until.move_to_end(digest)
        if len(self._until) > _MAX_COUNT:
            self._until.popitem(last=False)


def _digest(credential: str) -> bytes:
    return hashlib.blake2b(credential.encode(errors="replace"), digest_size=16).digest()


_MEMBERS_PER_TOKEN = 4
_RECIPIENTS_PER_TOKEN = 100
_TOKENS_PER_NUMBER = 20
"""For each phone number that is looked up: nobody should be able to try a country's numbers one by one."""


async def charge_members(limits: ApiLimits, tenant: TenantId, user: UserId, count: int) -> None:
    """Raises `rate_limited`. Nothing has been done then."""
    await _charge(limits, tenant, user, count // _MEMBERS_PER_TOKEN)


async def charge_recipients(limits: ApiLimits, tenant: TenantId, count: int) -> None:
    """The same for a notification, which a tenant's server sends."""
    await _charge(limits, tenant, None, count // _RECIPIENTS_PER_TOKEN)


async def charge_number(limits: ApiLimits, tenant: TenantId, user: UserId) -> None:
    """Charge a user for one phone number that they look up. Raises `rate_limited`, before anything is looked up."""
    _refuse(await limits.charge_look_up(tenant, user, _TOKENS_PER_NUMBER))


async def count_new_chat(limits: ApiLimits, tenant: TenantId, user: UserId) -> None:
    """Count a chat against the number that a user may create in a day; raise `rate_limited` when there is none left."""
    _refuse(await limits.admit_chat(tenant, user))


async def _charge(limits: ApiLimits, tenant: TenantId, user: UserId | None, tokens: int) -> None:
    if tokens == 0:
        return
    _refuse(await limits.charge(tenant, user, tokens))


def _refuse(allowance: RateLimitState | None) -> None:
    if allowance is not None and not allowance.is_allowed:
        raise rate_limited_error(allowance)


def rate_limited_error(allowance: RateLimitState) -> TidingsError:
    return TidingsError(
        Code.RATE_LIMITED,
        f"Too many requests: the limit by {allowance.policy} is reached.",
        hint="Wait as long as Retry-After says, then try the same again.",
        details={"retry_after_ms": allowance.retry_after_ms},
    )
