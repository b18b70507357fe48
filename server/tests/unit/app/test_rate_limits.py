"""Which buckets a request takes from, and what a tenant's own limits change."""

from collections.abc import Sequence

import pytest

from tidings.accounts.model import Principal
from tidings.app.wiring.rate_limits import RequestLimits, SocketRequestLimiter
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId
from tidings.limits.limiter import LocalBuckets, RateLimiter
from tidings.limits.model import NO_TENANT, LimitKind, LimitPolicy, TakeResult, TokenRequest
from tidings.tenants.model import Tenant, TenantSettings
from tidings.tenants.rate_settings import RateLimit, RateOverrides

ACME, ANNA = TenantId("acme"), UserId("anna")
SHARED = LimitPolicy(count=1, period_s=60, burst=5)


class Seen:
    """Buckets that remember who asked; each take leaves none in them."""

    def __init__(self) -> None:
        self.asked: list[tuple[LimitKind, str, str]] = []
        self.policies: list[LimitPolicy] = []
        self.takes = 0

    async def take(self, asks: Sequence[TokenRequest], policies: Sequence[LimitPolicy], /) -> TakeResult:
        self.takes += 1
        self.asked += [(ask.kind, ask.tenant, ask.name) for ask in asks]
        self.policies += policies
        return TakeResult(is_allowed=False, levels=(0,) * len(asks))


class Tenants:
    def __init__(self, rates: RateOverrides | None = None, *, is_away: bool = False) -> None:
        self.rates = rates or RateOverrides()
        self.is_away = is_away

    async def find(self, tenant: TenantId, /) -> Tenant | None:
        if self.is_away:
            raise TidingsError(Code.KEYS_UNAVAILABLE, "The table does not answer.")
        settings = TenantSettings(name="Acme", rates=self.rates)
        return Tenant(id=tenant, settings=settings, version=1, created_at_ms=0, updated_at_ms=0)


def limits(tenants: Tenants) -> tuple[RequestLimits, Seen]:
    seen, clock = Seen(), SystemClock()
    limiter = RateLimiter(seen, LocalBuckets(clock), dict.fromkeys(LimitKind, SHARED), clock)
    return RequestLimits(limiter, tenants), seen


async def test_an_unauthenticated_request_is_counted_by_address_without_a_tenant() -> None:
    edge, seen = limits(Tenants())
    allowance = await edge.admit("2001:db8::7", None, None)
    assert seen.asked == [(LimitKind.ADDRESS, NO_TENANT, "2001:db8::/64")]
    assert (allowance.policy, allowance.limit, allowance.is_allowed) == ("address", 5, False)
    assert 60_000 <= allowance.retry_after_ms < 61_000


@pytest.mark.parametrize("tenants", [Tenants(), Tenants(is_away=True)])
async def test_user_tenant_and_address_are_counted_in_one_take_and_a_server_without_a_user(
    tenants: Tenants,
) -> None:
    edge, seen = limits(tenants)
    await edge.admit("192.0.2.1", Principal(tenant=ACME, user=ANNA), ANNA)
    here = (LimitKind.ADDRESS, ACME, "192.0.2.1")
    assert seen.asked == [(LimitKind.TENANT, ACME, ""), (LimitKind.USER, ACME, ANNA), here]
    await edge.admit("192.0.2.1", Principal(tenant=ACME), None)
    assert seen.asked[3:] == [(LimitKind.TENANT, ACME, ""), here]
    assert (seen.takes, set(seen.policies)) == (2, {SHARED})


async def test_on_an_open_connection_the_address_counts_only_for_a_tenant_that_limits_it() -> None:
    for rates, counted in ((RateOverrides(), 2), (RateOverrides(address=RateLimit(per_s=1.0, burst=7)), 3)):
        edge, seen = limits(Tenants(rates))
        assert await SocketRequestLimiter(edge).take("192.0.2.1", Principal(tenant=ACME, user=ANNA))
        assert len(seen.asked) == counted


async def test_an_exhausted_address_is_rejected_locally_until_it_has_tokens_again() -> None:
    edge, seen = limits(Tenants())
    assert edge.is_blocked("192.0.2.1") is None
    await edge.admit("192.0.2.1", None, None)
    again = edge.is_blocked("192.0.2.1")
    assert again is not None
    assert (again.is_allowed, again.policy) == (False, "address")
    await edge.admit("192.0.2.1", None, None)
    assert edge.is_blocked("192.0.2.2") is None
    assert seen.takes == 1


async def test_the_limits_of_a_tenant_override_the_defaults() -> None:
    rates = RateOverrides(user=RateLimit(per_s=2.0, burst=9), address=RateLimit(per_s=0.5, burst=7))
    edge, seen = limits(Tenants(rates))
    await edge.admit("192.0.2.1", Principal(tenant=ACME, user=ANNA), ANNA)
    assert seen.asked == [
        (LimitKind.TENANT, ACME, ""),
        (LimitKind.USER, ACME, ANNA),
        (LimitKind.ADDRESS, ACME, "192.0.2.1"),
    ]
    assert seen.policies == [
        SHARED,
        LimitPolicy(count=2, period_s=1, burst=9),
        LimitPolicy(count=1, period_s=2, burst=7),
    ]


async def test_work_of_a_user_counts_only_against_the_user() -> None:
    edge, seen = limits(Tenants())
    await SocketRequestLimiter(edge).take_work(Principal(tenant=ACME, user=ANNA), 3)
    assert seen.asked == [(LimitKind.USER, ACME, ANNA)]


async def test_a_new_chat_counts_against_its_creator_at_the_rate_of_the_tenant() -> None:
    edge, seen = limits(Tenants(RateOverrides(chat=RateLimit(per_s=1_000 / 86_400, burst=50))))
    allowance = await edge.admit_chat(ACME, ANNA)
    assert seen.asked == [(LimitKind.CHAT_USER, ACME, ANNA)]
    assert seen.policies == [LimitPolicy(count=5, period_s=432, burst=50)]
    assert (allowance.policy, allowance.is_allowed) == ("chat_user", False)
