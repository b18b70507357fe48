"""Rate limits of the API: charges for expensive requests, and recently valid credentials."""

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
    """Credentials that were valid recently. They are verified even if their address is blocked.

    So an attacker behind the same NAT cannot lock out other clients. Every request is still verified in full.
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._until = OrderedDict[bytes, float]()

    def has(self, digest: bytes) -> bool:
        """Return whether a credential with this `credential_digest` was valid recently."""
        return self._until.get(digest, 0.0) > self._now_s()

    def add(self, digest: bytes) -> None:
        self._until[digest] = self._now_s() + _TTL_S
        self._until.move_to_end(digest)
        if len(self._until) > _MAX_COUNT:
            self._until.popitem(last=False)


def credential_digest(credential: str) -> bytes:
    return hashlib.blake2b(credential.encode(errors="replace"), digest_size=16).digest()


_MEMBERS_PER_TOKEN = 4
_RECIPIENTS_PER_TOKEN = 100
_TOKENS_PER_NUMBER = 20
"""Charge per phone number, so that a client cannot enumerate the numbers of a country."""

_TOKENS_PER_SEARCH = 4
"""A search reads the rows of the user's chats and up to 50 messages."""


async def charge_members(limits: ApiLimits, tenant: TenantId, user: UserId, count: int) -> None:
    """Charge a request by its number of members. Raise `rate_limited`; nothing was done then."""
    await _charge(limits, tenant, user, count // _MEMBERS_PER_TOKEN)


async def charge_recipients(limits: ApiLimits, tenant: TenantId, count: int) -> None:
    """Charge a notification by its number of recipients. Raise `rate_limited`; nothing was sent then."""
    await _charge(limits, tenant, None, count // _RECIPIENTS_PER_TOKEN)


async def charge_number(limits: ApiLimits, tenant: TenantId, user: UserId) -> None:
    """Charge a user for looking up a phone number. Raise `rate_limited`; call it before the look-up."""
    _refuse(await limits.charge_look_up(tenant, user, _TOKENS_PER_NUMBER))


async def charge_search(limits: ApiLimits, tenant: TenantId, user: UserId) -> None:
    """Charge a search for its reads. Raise `rate_limited`; call it before the search."""
    await _charge(limits, tenant, user, _TOKENS_PER_SEARCH)


async def count_new_chat(limits: ApiLimits, tenant: TenantId, user: UserId) -> None:
    """Count a new chat against the user's daily limit. Raise `rate_limited`."""
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
        f"Too many requests: the limit per {allowance.policy} is reached.",
        hint="Wait for the time in `Retry-After`, then repeat the request.",
        details={"retry_after_ms": allowance.retry_after_ms},
    )
