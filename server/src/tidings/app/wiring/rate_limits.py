"""Rate limits of login by phone, and of requests at the REST API and the gateway."""

import random
from collections.abc import Mapping
from functools import lru_cache
from typing import Protocol, override

from tidings.accounts.model import Phone, Principal
from tidings.api.services import ApiLimits, RateLimitState
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import TenantId, UserId
from tidings.limits.limiter import RateLimiter
from tidings.limits.model import NO_TENANT, LimitKind, LimitPolicy, LimitVerdict, TokenRequest
from tidings.limits.rules import address_key, network_key, policy_for
from tidings.tenants.model import TenantLookup
from tidings.tenants.rate_settings import RateOverrides

_BLOCK_DIGITS = slice(1, 8)
"""The first seven digits: a block of numbers that one carrier assigns, and that an attacker rents as a whole."""
_KNOWN = "known"


class KnownAddresses(Protocol):
    """Pairs of phone number and client address that have logged in. Best effort: may forget, never raises."""

    async def knows(self, tenant: TenantId, pair: str, /) -> bool: ...

    async def add(self, tenant: TenantId, pair: str, /) -> None: ...


class PhoneLoginLimits:
    """Limits for login by phone. `address` is the client's address.

    An address that has logged in with a number before takes from buckets that other addresses cannot empty:

    - Unknown addresses share one bucket for the number, one for its block of numbers, and one each for the tenant
      and the installation.
    - A known address has its own bucket for the number, of the same size. It draws on a second bucket of tenant and
      installation that only known addresses use.

    So the total is at most twice the configured rate.
    """

    def __init__(self, limiter: RateLimiter, tenants: TenantLookup, known: KnownAddresses) -> None:
        self._limiter = limiter
        self._tenants = tenants
        self._known = known

    async def admit_request(self, tenant: TenantId, address: str, /) -> LimitVerdict:
        """Count a request for a code. Call it before any look-up."""
        asks = [TokenRequest(LimitKind.CODE_ADDRESS, tenant, address_key(address))]
        if network := network_key(address):
            asks.append(TokenRequest(LimitKind.CODE_NETWORK, tenant, network))
        return await self._limiter.take(asks)

    async def admit_code(self, tenant: TenantId, phone: Phone, address: str, /) -> LimitVerdict:
        """Count a code that is about to be sent. Does the same work for every number."""
        pair = _pair(phone, address)
        is_known = await self._known.knows(tenant, pair)
        share = _KNOWN if is_known else ""
        asks = [
            TokenRequest(LimitKind.CODE_NUMBER_ADDRESS, tenant, pair),
            TokenRequest(LimitKind.CODE_TENANT, tenant, share),
        ]
        if not is_known:
            asks.append(TokenRequest(LimitKind.CODE_NUMBER, tenant, phone))
            asks.append(TokenRequest(LimitKind.CODE_PREFIX, tenant, phone[_BLOCK_DIGITS]))
        verdict = await self._limiter.take(asks, await self._tenant_policies(tenant))
        if not verdict.is_allowed:
            return verdict
        return await self._limiter.take([TokenRequest(LimitKind.CODE_INSTALLATION, NO_TENANT, share)])

    async def admit_try(self, tenant: TenantId, address: str, /) -> LimitVerdict:
        """Count an attempt to log in with a code."""
        return await self._limiter.take(
            [TokenRequest(LimitKind.REDEEM_ADDRESS, tenant, address_key(address))]
        )

    async def remember(self, tenant: TenantId, phone: Phone, address: str, /) -> None:
        """Record a successful login, which makes the address known for this number. Best effort: never raises."""
        await self._known.add(tenant, _pair(phone, address))

    async def _tenant_policies(self, tenant: TenantId) -> Mapping[LimitKind, LimitPolicy]:
        try:
            found = await self._tenants.find(tenant)
        except TidingsError:
            found = None  # DynamoDB is unavailable: the installation's limits apply
        rate = found.settings.rates.code if found else None
        return {LimitKind.CODE_TENANT: policy_for(rate.per_s, rate.burst)} if rate else {}


def _pair(phone: Phone, address: str) -> str:
    return f"{phone} {address_key(address)}"


_SPREAD_MS = 1_000
"""Retries of clients that were refused together are spread over this time."""


class RequestLimits(ApiLimits):
    """Limit requests. An authenticated one counts for the tenant, the user and the address, or for none of them.

    A request without a credential counts for its address alone. The address of an authenticated user is counted for
    the tenant, so that all three counters are on one Redis shard and one round trip is enough. A tenant can have limits
    of its own.
    """

    def __init__(self, limiter: RateLimiter, tenants: TenantLookup) -> None:
        self._limiter = limiter
        self._tenants = tenants

    @override
    def is_blocked(self, address: str, /) -> RateLimitState | None:
        verdict = self._limiter.is_blocked(_stranger(address))
        return None if verdict is None else _allowance(verdict)

    @override
    async def admit(
        self, address: str, principal: Principal | None, user: UserId | None, /
    ) -> RateLimitState:
        if principal is None:
            return _allowance(await self._limiter.take([_stranger(address)]))
        own = await self._own(principal.tenant)
        asks = [
            *_known(principal, user),
            TokenRequest(LimitKind.ADDRESS, principal.tenant, address_key(address)),
        ]
        return _allowance(await self._limiter.take(asks, own))

    async def admit_device(self, address: str, principal: Principal, /) -> RateLimitState:
        """On a connection that is open already. The address counts only for a tenant that wants it so."""
        own = await self._own(principal.tenant)
        asks = _known(principal, principal.user)
        if LimitKind.ADDRESS in own:
            asks.append(TokenRequest(LimitKind.ADDRESS, principal.tenant, address_key(address)))
        return _allowance(await self._limiter.take(asks, own))

    async def admit_work(self, principal: Principal, tokens: int, /) -> RateLimitState:
        """Work that a request of a user causes beyond the request itself. It counts against the user alone: after
        an outage all devices of a tenant catch up at once, and its other requests must not be refused for it.
        """
        own = await self._own(principal.tenant)
        asks = [TokenRequest(LimitKind.USER, principal.tenant, principal.user or "", tokens)]
        return _allowance(await self._limiter.take(asks, own))

    @override
    async def charge(self, tenant: TenantId, user: UserId | None, tokens: int, /) -> RateLimitState:
        asks = [TokenRequest(LimitKind.TENANT, tenant, tokens=tokens)]
        if user is not None:
            asks.append(TokenRequest(LimitKind.USER, tenant, user, tokens))
        return _allowance(await self._limiter.take(asks, await self._own(tenant)))

    @override
    async def admit_chat(self, tenant: TenantId, user: UserId, /) -> RateLimitState:
        asks = [TokenRequest(LimitKind.CHAT_USER, tenant, user)]
        return _allowance(await self._limiter.take(asks, await self._own(tenant)))

    @override
    async def charge_look_up(self, tenant: TenantId, user: UserId, tokens: int, /) -> RateLimitState:
        asks = [
            TokenRequest(LimitKind.TENANT, tenant, tokens=tokens),
            TokenRequest(LimitKind.USER, tenant, user, tokens),
            TokenRequest(LimitKind.PHONE_SEARCH, tenant, user),
        ]
        return _allowance(await self._limiter.take(asks, await self._own(tenant)))

    async def _own(self, tenant: TenantId) -> Mapping[LimitKind, LimitPolicy]:
        try:
            found = await self._tenants.find(tenant)
        except TidingsError:
            found = None  # the table is unavailable: the installation's limits apply
        return _policies(found.settings.rates) if found else {}


class SocketRequestLimiter:
    """The same, as the gateway's port `RequestLimiter`: a connection is counted as a request, and so is each that follows."""

    def __init__(self, limits: RequestLimits) -> None:
        self._limits = limits

    async def take(self, address: str, principal: Principal | None, /) -> int | None:
        if principal is None:
            allowance = await self._limits.admit(address, None, None)
        else:
            allowance = await self._limits.admit_device(address, principal)
        return None if allowance.is_allowed else allowance.retry_after_ms

    async def take_work(self, principal: Principal, tokens: int, /) -> int | None:
        allowance = await self._limits.admit_work(principal, tokens)
        return None if allowance.is_allowed else allowance.retry_after_ms


def _stranger(address: str) -> TokenRequest:
    return TokenRequest(LimitKind.ADDRESS, NO_TENANT, address_key(address))


def _known(principal: Principal, user: UserId | None) -> list[TokenRequest]:
    asks = [TokenRequest(LimitKind.TENANT, principal.tenant)]
    return asks if user is None else [*asks, TokenRequest(LimitKind.USER, principal.tenant, user)]


@lru_cache(maxsize=1_000)
def _policies(rates: RateOverrides) -> Mapping[LimitKind, LimitPolicy]:
    given = {
        LimitKind.TENANT: rates.tenant,
        LimitKind.USER: rates.user,
        LimitKind.ADDRESS: rates.address,
        LimitKind.CHAT_USER: rates.chat,
    }
    return {kind: policy_for(rate.per_s, rate.burst) for kind, rate in given.items() if rate is not None}


def _allowance(verdict: LimitVerdict) -> RateLimitState:
    retry_after_ms = 0 if verdict.is_allowed else verdict.retry_after_s * 1000 + _spread_ms()
    return RateLimitState(
        policy=verdict.kind,
        limit=verdict.limit,
        remaining=verdict.remaining,
        reset_s=verdict.reset_s,
        window_s=verdict.window_s,
        is_allowed=verdict.is_allowed,
        retry_after_ms=retry_after_ms,
    )


def _spread_ms() -> int:
    return random.randrange(_SPREAD_MS)  # noqa: S311 - no secret
