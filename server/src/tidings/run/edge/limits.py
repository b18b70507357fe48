"""The limiter as the edge's port `Limits`: which buckets a request takes from."""

import random
from collections.abc import Mapping
from functools import lru_cache

from tidings.accounts.model import Principal
from tidings.accounts.user_tokens import TenantSource
from tidings.api.ports import Allowance
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import TenantId, UserId
from tidings.limits.limit import Limiter
from tidings.limits.model import NO_TENANT, Ask, Kind, Policy, Verdict
from tidings.limits.rules import place_of, policy_of
from tidings.tenants.model import RateOverrides

_SPREAD_MS = 1_000
"""Those who were refused together do not come back together."""


class EdgeLimits:
    """Who is known: his tenant, he himself and his address, from all or from none. Who is not: his address alone.

    The address of somebody who is known is counted for his tenant, so that all three stand together in Redis and one
    round trip is enough. A tenant may have limits of its own.
    """

    def __init__(self, limiter: Limiter, tenants: TenantSource) -> None:
        self._limiter = limiter
        self._tenants = tenants

    def turned_away(self, address: str, /) -> Allowance | None:
        verdict = self._limiter.turned_away(_stranger(address))
        return None if verdict is None else _allowance(verdict)

    async def admit(self, address: str, principal: Principal | None, user: UserId | None, /) -> Allowance:
        if principal is None:
            return _allowance(await self._limiter.take([_stranger(address)]))
        own = await self._own(principal.tenant)
        asks = [*_known(principal, user), Ask(Kind.ADDRESS, principal.tenant, place_of(address))]
        return _allowance(await self._limiter.take(asks, own))

    async def admit_device(self, address: str, principal: Principal, /) -> Allowance:
        """On a connection that is open already. The address counts only for a tenant that wants it so."""
        own = await self._own(principal.tenant)
        asks = _known(principal, principal.user)
        if Kind.ADDRESS in own:
            asks.append(Ask(Kind.ADDRESS, principal.tenant, place_of(address)))
        return _allowance(await self._limiter.take(asks, own))

    async def admit_work(self, principal: Principal, tokens: int, /) -> Allowance:
        """Work that a request of a user causes beyond the request itself. It counts against the user alone: after
        an outage all devices of a tenant catch up at once, and its other requests must not be refused for it.
        """
        own = await self._own(principal.tenant)
        asks = [Ask(Kind.USER, principal.tenant, principal.user or "", tokens)]
        return _allowance(await self._limiter.take(asks, own))

    async def charge(self, tenant: TenantId, user: UserId | None, tokens: int, /) -> Allowance:
        asks = [Ask(Kind.TENANT, tenant, tokens=tokens)]
        if user is not None:
            asks.append(Ask(Kind.USER, tenant, user, tokens))
        return _allowance(await self._limiter.take(asks, await self._own(tenant)))

    async def admit_chat(self, tenant: TenantId, user: UserId, /) -> Allowance:
        asks = [Ask(Kind.CHAT_USER, tenant, user)]
        return _allowance(await self._limiter.take(asks, await self._own(tenant)))

    async def charge_look_up(self, tenant: TenantId, user: UserId, tokens: int, /) -> Allowance:
        asks = [
            Ask(Kind.TENANT, tenant, tokens=tokens),
            Ask(Kind.USER, tenant, user, tokens),
            Ask(Kind.PHONE_SEARCH, tenant, user),
        ]
        return _allowance(await self._limiter.take(asks, await self._own(tenant)))

    async def _own(self, tenant: TenantId) -> Mapping[Kind, Policy]:
        try:
            found = await self._tenants.find(tenant)
        except TidingsError:
            found = None  # the table is away: the installation's limits hold meanwhile
        return _policies(found.settings.rates) if found else {}


class SocketRates:
    """The same, as the gateway's port `Rates`: a connection is counted as a request, and so is each that follows."""

    def __init__(self, limits: EdgeLimits) -> None:
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


def _stranger(address: str) -> Ask:
    return Ask(Kind.ADDRESS, NO_TENANT, place_of(address))


def _known(principal: Principal, user: UserId | None) -> list[Ask]:
    asks = [Ask(Kind.TENANT, principal.tenant)]
    return asks if user is None else [*asks, Ask(Kind.USER, principal.tenant, user)]


@lru_cache(maxsize=1_000)
def _policies(rates: RateOverrides) -> Mapping[Kind, Policy]:
    given = {
        Kind.TENANT: rates.tenant,
        Kind.USER: rates.user,
        Kind.ADDRESS: rates.address,
        Kind.CHAT_USER: rates.chat,
    }
    return {kind: policy_of(rate.per_s, rate.burst) for kind, rate in given.items() if rate is not None}


def _allowance(verdict: Verdict) -> Allowance:
    retry_after_ms = 0 if verdict.is_allowed else verdict.retry_after_s * 1000 + _spread_ms()
    return Allowance(
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
