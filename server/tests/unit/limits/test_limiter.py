"""While Redis is unavailable the process uses local buckets, logs this once, and recovers automatically."""

import logging
from collections.abc import Sequence

import pytest

from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import UnavailableError
from tidings.kernel.ids import TenantId
from tidings.limits.limiter import LocalBuckets, RateLimiter
from tidings.limits.model import LimitKind, LimitPolicy, TakeResult, TokenRequest

ACME = TenantId("acme")
POLICIES = {kind: LimitPolicy(count=1, period_s=60, burst=3) for kind in LimitKind}
ANNA, BEN = (TokenRequest(LimitKind.USER, ACME, name) for name in ("anna", "ben"))


class HeldClock(SystemClock):
    at = 100.0

    def monotonic(self) -> float:
        return self.at


class Shared:
    """Buckets that allow everything, allow nothing with the level `left`, or are unavailable. Counts calls."""

    def __init__(self) -> None:
        self.is_away = False
        self.asked = 0
        self.left: int | None = None

    async def take(self, asks: Sequence[TokenRequest], policies: Sequence[LimitPolicy], /) -> TakeResult:
        self.asked += 1
        if self.is_away:
            raise UnavailableError("no answer in time")
        if self.left is not None:
            return TakeResult(is_allowed=False, levels=(self.left,) * len(asks))
        return TakeResult(is_allowed=True, levels=tuple(policy.capacity for policy in policies[: len(asks)]))


class LimiterEnv:
    def __init__(self, max_buckets: int = 10) -> None:
        self.clock, self.shared = HeldClock(), Shared()
        self.local = LocalBuckets(self.clock, max_buckets=max_buckets)
        self.limiter = RateLimiter(self.shared, self.local, POLICIES, self.clock, retry_s=1.0)

    async def allowed(self, *asks: TokenRequest) -> bool:
        return (await self.limiter.take(asks)).is_allowed


async def test_while_the_shared_buckets_are_unavailable_the_same_limit_applies_locally() -> None:
    env = LimiterEnv()
    env.shared.is_away = True
    assert [await env.allowed(ANNA) for _ in range(5)] == [True, True, True, False, False]
    assert await env.allowed(BEN)
    env.clock.at += 60
    assert [await env.allowed(ANNA) for _ in range(2)] == [True, False]
    assert (await env.limiter.take([ANNA])).is_local
    assert env.limiter.counts.local == 9


async def test_during_an_outage_one_request_per_second_tries_redis_until_it_answers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    env = LimiterEnv()
    env.shared.is_away = True
    with caplog.at_level(logging.WARNING):
        for _ in range(10):
            await env.allowed(ANNA)
        assert env.shared.asked == 1
        env.clock.at += 1.0
        for _ in range(10):
            await env.allowed(ANNA)
        assert env.shared.asked == 2
        assert env.limiter.trouble == "no answer in time"
        env.shared.is_away = False
        env.clock.at += 1.0
        verdict = await env.limiter.take([ANNA])
        assert (verdict.is_allowed, verdict.is_local, env.limiter.trouble) == (True, False, "")
        await env.allowed(ANNA)
        assert env.shared.asked == 4
    assert [record.message for record in caplog.records] == [
        "rate limits: Redis is unavailable, using local buckets: no answer in time",
        "rate limits: Redis is available again, after: no answer in time",
    ]


async def test_the_number_of_local_buckets_is_bounded_and_the_least_recently_used_is_evicted() -> None:
    env = LimiterEnv(max_buckets=3)
    env.shared.is_away = True
    for name in "abcab":
        await env.allowed(TokenRequest(LimitKind.USER, ACME, name))
    await env.allowed(TokenRequest(LimitKind.USER, ACME, "d"))
    assert len(env.local) == 3
    assert [
        (await env.limiter.take([TokenRequest(LimitKind.USER, ACME, name)])).remaining for name in "ac"
    ] == [0, 2]


async def test_no_local_bucket_is_charged_unless_all_allow() -> None:
    env = LimiterEnv()
    env.shared.is_away = True
    for _ in range(3):
        assert await env.allowed(TokenRequest(LimitKind.TENANT, ACME))
    assert not await env.allowed(ANNA, TokenRequest(LimitKind.TENANT, ACME))
    assert (await env.limiter.take([ANNA])).remaining == 2


@pytest.mark.parametrize(
    "asks",
    [
        [],
        [ANNA, ANNA],
        [ANNA, TokenRequest(LimitKind.USER, TenantId("other"), "anna")],
        [TokenRequest(LimitKind.USER, ACME, "anna", 0)],
    ],
)
async def test_invalid_requests_for_tokens_are_refused(asks: list[TokenRequest]) -> None:
    with pytest.raises(ValueError, match=r"different buckets|at least one"):
        await LimiterEnv().limiter.take(asks)


async def test_a_refused_key_is_not_requested_again_before_it_has_a_token() -> None:
    env = LimiterEnv()
    policy = POLICIES[LimitKind.USER]
    env.shared.left = policy.token // 3
    assert not await env.allowed(ANNA)
    env.clock.at += 39.9
    assert [await env.allowed(ANNA), env.shared.asked] == [False, 1]
    assert env.limiter.counts.refused == 2
    env.shared.left = None
    env.clock.at += 0.2
    assert [await env.allowed(ANNA), env.shared.asked] == [True, 2]


async def test_the_number_of_cached_refusals_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidings.limits.limiter.MAX_BLOCKED", 2)
    env = LimiterEnv()
    env.shared.left = 0
    asks = [TokenRequest(LimitKind.USER, ACME, f"user{n}") for n in range(5)]
    for ask in asks:
        assert not await env.allowed(ask)
    assert [env.limiter.is_blocked(ask) is not None for ask in asks] == [False] * 3 + [True] * 2
