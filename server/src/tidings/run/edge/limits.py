"""The limiter as the edge's port `Limits`: which buckets a request takes from."""

import random
from collections.abc import Sequence

from tidings.accounts.model import Principal
from tidings.api.ports import Allowance
from tidings.kernel.ids import UserId
from tidings.limits.limit import Limiter
from tidings.limits.model import NO_TENANT, Ask, Kind, Verdict
from tidings.limits.rules import place_of

_SPREAD_MS = 1_000
"""Those who were refused together do not come back together."""


class EdgeLimits:
    """An address before its credential is looked at; then the tenant and the user, from both or from none."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter

    async def admit(self, address: str, principal: Principal | None, user: UserId | None, /) -> Allowance:
        return _allowance(await self._limiter.take(_asks(address, principal, user)))


def _asks(address: str, principal: Principal | None, user: UserId | None) -> Sequence[Ask]:
    if principal is None:
        return [Ask(Kind.ADDRESS, NO_TENANT, place_of(address))]
    tenant = Ask(Kind.TENANT, principal.tenant)
    return [tenant] if user is None else [tenant, Ask(Kind.USER, principal.tenant, user)]


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
