"""Limits on one-time codes, as the port `Limits` of login by phone: which buckets a code takes from."""

from collections.abc import Mapping
from typing import Protocol

from tidings.accounts.records import Phone
from tidings.accounts.user_tokens import TenantSource
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import TenantId
from tidings.limits.limit import RateLimiter
from tidings.limits.model import NO_TENANT, LimitKind, LimitPolicy, LimitVerdict, TokenRequest
from tidings.limits.rules import address_key, network_key, policy_for

_PREFIX = slice(1, 8)
"""The first seven digits: a block of numbers that one operator assigns, and that a fraudster rents as a whole."""
_KNOWN = "known"


class KnownAddresses(Protocol):
    """Pairs of phone number and place that have logged in. May forget; never raises."""

    async def knows(self, tenant: TenantId, pair: str, /) -> bool: ...

    async def add(self, tenant: TenantId, pair: str, /) -> None: ...


class PhoneLoginLimits:
    """A place that has logged in with a number before takes from buckets that strangers cannot empty.

    Strangers share one bucket for the number, one for the block of numbers, and one for the tenant and the
    installation each. A known place has a bucket of its own for the number, of the size that a stranger has for it,
    and draws on a second bucket of tenant and installation, which only known places draw on. So the total is bounded
    by twice the configured rate.
    """

    def __init__(self, limiter: RateLimiter, tenants: TenantSource, places: KnownAddresses) -> None:
        self._limiter = limiter
        self._tenants = tenants
        self._places = places

    async def admit_request(self, tenant: TenantId, address: str, /) -> LimitVerdict:
        asks = [TokenRequest(LimitKind.CODE_ADDRESS, tenant, address_key(address))]
        if network := network_key(address):
            asks.append(TokenRequest(LimitKind.CODE_NETWORK, tenant, network))
        return await self._limiter.take(asks)

    async def admit_code(self, tenant: TenantId, phone: Phone, address: str, /) -> LimitVerdict:
        pair = _pair(phone, address)
        is_known = await self._places.knows(tenant, pair)
        share = _KNOWN if is_known else ""
        asks = [
            TokenRequest(LimitKind.CODE_NUMBER_PLACE, tenant, pair),
            TokenRequest(LimitKind.CODE_TENANT, tenant, share),
        ]
        if not is_known:
            asks.append(TokenRequest(LimitKind.CODE_NUMBER, tenant, phone))
            asks.append(TokenRequest(LimitKind.CODE_PREFIX, tenant, phone[_PREFIX]))
        verdict = await self._limiter.take(asks, await self._own(tenant))
        if not verdict.is_allowed:
            return verdict
        return await self._limiter.take([TokenRequest(LimitKind.CODE_INSTALLATION, NO_TENANT, share)])

    async def admit_try(self, tenant: TenantId, address: str, /) -> LimitVerdict:
        return await self._limiter.take(
            [TokenRequest(LimitKind.REDEEM_ADDRESS, tenant, address_key(address))]
        )

    async def remember(self, tenant: TenantId, phone: Phone, address: str, /) -> None:
        await self._places.add(tenant, _pair(phone, address))

    async def _own(self, tenant: TenantId) -> Mapping[LimitKind, LimitPolicy]:
        try:
            found = await self._tenants.find(tenant)
        except TidingsError:
            found = None  # the table does not answer: the installation's limits apply meanwhile
        rate = found.settings.rates.code if found else None
        return {LimitKind.CODE_TENANT: policy_for(rate.per_s, rate.burst)} if rate else {}


def _pair(phone: Phone, address: str) -> str:
    return f"{phone} {address_key(address)}"
