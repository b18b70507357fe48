"""Bucket arithmetic: never more than burst and rate allow, and the verdict is true."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.kernel.ids import TenantId
from tidings.limits import rules
from tidings.limits.model import LimitKind, LimitPolicy, TakeResult, TokenRequest
from tidings.limits.rules import BucketState

ACME = TenantId("acme")
USER = TokenRequest(LimitKind.USER, ACME, "anna")

policies = st.builds(
    LimitPolicy,
    count=st.integers(1, 100_000),
    period_s=st.sampled_from([1, 60, 3_600, 86_400]),
    burst=st.integers(1, 10_000),
)


def one(bucket: BucketState | None, policy: LimitPolicy, now_us: int, tokens: int = 1) -> TakeResult:
    return rules.take([bucket], [policy], [TokenRequest(LimitKind.USER, ACME, "anna", tokens)], now_us)


@given(
    policies, st.lists(st.tuples(st.integers(-(10**6), 10**9), st.integers(1, 5)), min_size=1, max_size=60)
)
def test_never_more_than_the_burst_and_the_rate_times_the_time(
    policy: LimitPolicy, steps: list[tuple[int, int]]
) -> None:
    bucket, now, forward, taken = None, 10**15, 0, 0
    for step_us, tokens in steps:
        now += step_us
        forward += max(0, step_us)
        taking = one(bucket, policy, now, tokens)
        if taking.is_allowed:
            bucket = BucketState(taking.levels[0], now)
            taken += min(tokens, max(1, policy.burst // 2))
        assert 0 <= taking.levels[0] <= policy.capacity
        assert taken * policy.token <= policy.capacity + forward * policy.count


@given(policies, st.integers(0, 10**10), st.integers(1, 20_000), st.integers(1, 3))
def test_a_caller_that_waits_for_the_retry_time_is_accepted(
    policy: LimitPolicy, at_us: int, level_tenths: int, tokens: int
) -> None:
    bucket = BucketState(min(policy.capacity, level_tenths * policy.token // 10_000), at_us)
    ask = TokenRequest(LimitKind.USER, ACME, "anna", tokens)
    taking = one(bucket, policy, at_us, tokens)
    verdict = rules.to_verdict([policy], [ask], taking, is_local=False)
    assert (verdict.retry_after_s == 0) is taking.is_allowed
    later = one(bucket, policy, at_us + verdict.retry_after_s * 1_000_000, tokens)
    assert later.is_allowed
    if verdict.retry_after_s > 1:
        assert not one(bucket, policy, at_us + (verdict.retry_after_s - 1) * 1_000_000, tokens).is_allowed


@given(policies, st.integers(1, 100))
def test_a_bucket_is_full_after_its_reset_time(policy: LimitPolicy, taken: int) -> None:
    taking = one(None, policy, 0, taken)
    verdict = rules.to_verdict([policy], [USER], taking, is_local=False)
    level = rules.level_at(BucketState(taking.levels[0], 0), policy, verdict.reset_s * 1_000_000)
    assert level == policy.capacity


def test_no_bucket_is_charged_unless_all_buckets_allow() -> None:
    roomy, empty = LimitPolicy(count=1, period_s=1, burst=10), LimitPolicy(count=1, period_s=1, burst=1)
    asks = [USER, TokenRequest(LimitKind.TENANT, ACME)]
    taking = rules.take([None, BucketState(0, 0)], [roomy, empty], asks, 0)
    assert taking == TakeResult(is_allowed=False, levels=(roomy.capacity, 0))
    verdict = rules.to_verdict([roomy, empty], asks, taking, is_local=False)
    assert (verdict.kind, verdict.limit, verdict.remaining, verdict.retry_after_s) == (
        LimitKind.TENANT,
        1,
        0,
        1,
    )


def test_the_bucket_closest_to_its_limit_is_reported() -> None:
    wide, narrow = LimitPolicy(count=100, period_s=1, burst=1000), LimitPolicy(count=1, period_s=60, burst=3)
    asks = [USER, TokenRequest(LimitKind.CODE_NUMBER, ACME, "+49")]
    verdict = rules.to_verdict(
        [wide, narrow], asks, rules.take([None, None], [wide, narrow], asks, 0), is_local=False
    )
    assert (verdict.kind, verdict.limit, verdict.remaining, verdict.reset_s) == (
        LimitKind.CODE_NUMBER,
        3,
        2,
        60,
    )


def test_a_request_for_many_tokens_takes_at_most_half_of_the_bucket() -> None:
    policy = LimitPolicy(count=1, period_s=1, burst=6)
    taking = one(None, policy, 0, tokens=50)
    assert taking == TakeResult(is_allowed=True, levels=(3 * policy.token,))
    assert not one(BucketState(3 * policy.token - 1, 0), policy, 0, tokens=50).is_allowed


@given(policies.filter(lambda policy: policy.burst > 1), st.integers(2, 10**9))
def test_a_charge_of_any_size_succeeds_after_the_token_of_its_request(
    policy: LimitPolicy, tokens: int
) -> None:
    admitted = one(None, policy, 0)
    assert one(BucketState(admitted.levels[0], 0), policy, 0, tokens).is_allowed


@pytest.mark.parametrize(
    ("count", "period_s", "burst"), [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 86_400, 10**6)]
)
def test_a_policy_that_could_not_be_counted_exactly_is_refused(count: int, period_s: int, burst: int) -> None:
    with pytest.raises(ValueError, match="is out of range"):
        LimitPolicy(count=count, period_s=period_s, burst=burst)


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("x" * 1000, "x" * 64),
    ],
)
def test_an_address_is_reduced_to_its_subscriber(address: str, place: str) -> None:
    assert rules.address_key(address) == place


@given(st.floats(0.001, 1_000_000), st.integers(1, 1_000_000))
def test_any_rate_that_a_tenant_may_have_can_be_counted(per_s: float, burst: int) -> None:
    policy = rules.policy_for(per_s, burst)
    assert policy.burst == burst
    assert policy.count / policy.period_s == pytest.approx(per_s, rel=0.2)


def test_integer_rates_are_unchanged_and_slow_ones_have_a_minimum() -> None:
    assert rules.policy_for(20.0, 60) == LimitPolicy(count=20, period_s=1, burst=60)
    assert rules.policy_for(0.1, 1) == LimitPolicy(count=1, period_s=10, burst=1)
    assert rules.policy_for(0.000001, 1) == LimitPolicy(count=1, period_s=3_600, burst=1)


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("2001:db8:1:2::3", "2001:db8:1::/48"),
        ("2001:db8:1:ffff:ffff::3", "2001:db8:1::/48"),
        ("192.0.2.7", None),
        ("::ffff:192.0.2.7", None),
        ("nonsense", None),
    ],
)
def test_the_network_of_an_ipv6_address_is_its_site(address: str, network: str | None) -> None:
    assert rules.network_key(address) == network
