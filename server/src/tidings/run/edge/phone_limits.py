"""Limits on one-time codes, as the port `Limits` of login by phone: which buckets a code takes from."""

from collections.abc import Mapping
from typing import Protocol

from tidings.accounts.records import Phone
from tidings.accounts.user_tokens import TenantSource
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import TenantId
from tidings.limits.limit import Limiter
from tidings.limits.model import NO_TENANT, Ask, Kind, Policy, Verdict
from tidings.limits.rules import network_of, place_of, policy_of

_PREFIX = slice(1, 8)
"""The first seven digits: a block of numbers that one operator assigns, and that a fraudster rents as a whole."""
_KNOWN = "known"


class KnownPlaces(Protocol):
    """Pairs of phone number and place that have logged in. May forget; never raises."""

    async def knows(self, tenant: TenantId, pair: str, /) -> bool: ...

    async def add(self, tenant: TenantId, pair: str, /) -> None: ...


class PhoneLimits:
    """A place that has logged in with a number before takes from buckets that strangers cannot empty.

    Strangers share one bucket for the number, one for the block of numbers, and one for the tenant and the
    installation each. A known place has a bucket of its own for the number, of the size that a stranger has for it,
    and draws on a second bucket of tenant and installation, which only known places draw on. So the total is bounded
    by twice the configured rate.
    """

    def __init__(self, limiter: Limiter, tenants: TenantSource, places: KnownPlaces) -> None:
        self._limiter = limiter
        self._tenants = tenants
        self._places = places

    async def admit_request(self, tenant: TenantId, address: str, /) -> Verdict:
        asks = [Ask(Kind.CODE_ADDRESS, tenant, place_of(address))]
        if network := network_of(address):
            asks.append(Ask(Kind.CODE_NETWORK, tenant, network))
        return await self._limiter.take(asks)

    async def admit_code(self, tenant: TenantId, phone: Phone, address: str, /) -> Verdict:
        pair = _pair(phone, address)
        is_known = await self._places.knows(tenant, pair)
        share = _KNOWN if is_known else ""
        asks = [Ask(Kind.CODE_NUMBER_PLACE, tenant, pair), Ask(Kind.CODE_TENANT, tenant, share)]
        if not is_known:
            asks.append(Ask(Kind.CODE_NUMBER, tenant, phone))
            asks.append(Ask(Kind.CODE_PREFIX, tenant, phone[_PREFIX]))
        verdict = await self._limiter.take(asks, await self._own(tenant))
        if not verdict.is_allowed:
            return verdict
        return await self._limiter.take([Ask(Kind.CODE_INSTALLATION, NO_TENANT, share)])

    async def admit_try(self, tenant: TenantId, address: str, /) -> Verdict:
        return await self._limiter.take([Ask(Kind.REDEEM_ADDRESS, tenant, place_of(address))])

    async def remember(self, tenant: TenantId, phone: Phone, address: str, /) -> None:
        await self._places.add(tenant, _pair(phone, address))

    async def _own(self, tenant: TenantId) -> Mapping[Kind, Policy]:
        try:
            found = await self._tenants.find(tenant)
        except TidingsError:
            found = None  # the table does not answer: the installation's limits apply meanwhile
        rate = found.settings.rates.code if found else None
        return {Kind.CODE_TENANT: policy_of(rate.per_s, rate.burst)} if rate else {}


def _pair(phone: Phone, address: str) -> str:
    return f"{phone} {place_of(address)}"
