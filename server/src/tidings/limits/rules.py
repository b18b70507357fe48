"""Bucket arithmetic in whole units and microseconds. `take.lua` computes the same; a contract test compares them."""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

from tidings.limits.model import LimitPolicy, LimitVerdict, TakeResult, TokenRequest

_SECOND_US = 1_000_000
_LONGEST_PERIOD_S = 3_600
_HOSTS_BITS = 64
_SITE_BITS = 80
_MAX_NAME_CHARS = 64


class BucketState(NamedTuple):
    """A bucket at its last use. An unused bucket is full."""

    level: int
    at_us: int


def level_at(bucket: BucketState | None, policy: LimitPolicy, now_us: int) -> int:
    """Return the level now. If the clock was set back, nothing is added."""
    if bucket is None:
        return policy.capacity
    refill = max(0, now_us - bucket.at_us) * policy.count
    return min(policy.capacity, bucket.level + refill)


def token_cost(policy: LimitPolicy, tokens: int) -> int:
    """Return the price of a request in units. Several tokens cost at most half of the bucket.

    A price of the whole bucket could never be paid: the request itself has taken a token just before its charge, and
    other requests of the tenant take some all the time.
    """
    return min(tokens, max(1, policy.burst // 2)) * policy.token


def policy_for(per_s: float, burst: int) -> LimitPolicy:
    """Return the nearest policy in whole units. The slowest is one token an hour."""
    rate = Fraction(per_s).limit_denominator(_LONGEST_PERIOD_S)
    rate = max(rate, Fraction(1, _LONGEST_PERIOD_S))
    return LimitPolicy(count=rate.numerator, period_s=rate.denominator, burst=burst)


def take(
    buckets: Sequence[BucketState | None],
    policies: Sequence[LimitPolicy],
    asks: Sequence[TokenRequest],
    now_us: int,
) -> TakeResult:
    levels = [level_at(bucket, policy, now_us) for bucket, policy in zip(buckets, policies, strict=True)]
    prices = [token_cost(policy, ask.tokens) for policy, ask in zip(policies, asks, strict=True)]
    left = [level - price for level, price in zip(levels, prices, strict=True)]
    is_allowed = min(left) >= 0
    return TakeResult(is_allowed, tuple(left if is_allowed else levels))


def to_verdict(
    policies: Sequence[LimitPolicy], asks: Sequence[TokenRequest], taking: TakeResult, *, is_local: bool
) -> LimitVerdict:
    buckets = zip(policies, asks, taking.levels, strict=True)
    if taking.is_allowed:
        decisive = min(buckets, key=lambda bucket: bucket[2] // bucket[0].token)
    else:
        decisive = max(buckets, key=lambda bucket: _wait_s(*bucket))
    return _verdict(*decisive, is_allowed=taking.is_allowed, is_local=is_local)


def _verdict(
    policy: LimitPolicy, ask: TokenRequest, level: int, *, is_allowed: bool, is_local: bool
) -> LimitVerdict:
    return LimitVerdict(
        is_allowed=is_allowed,
        kind=ask.kind,
        limit=policy.burst,
        remaining=level // policy.token,
        window_s=_seconds(policy.capacity, policy),
        reset_s=_seconds(policy.capacity - level, policy),
        retry_after_s=0 if is_allowed else _wait_s(policy, ask, level),
        is_local=is_local,
    )


def _wait_s(policy: LimitPolicy, ask: TokenRequest, level: int) -> int:
    return _seconds(max(0, token_cost(policy, ask.tokens) - level), policy)


def wait_until_allowed_s(policy: LimitPolicy, ask: TokenRequest, level: int) -> float:
    """Return the seconds until the request can succeed. Other requests can only make it later."""
    return max(0, token_cost(policy, ask.tokens) - level) / (policy.count * _SECOND_US)


def _seconds(units: int, policy: LimitPolicy) -> int:
    """Return how long it takes to gain `units`, rounded up to whole seconds."""
    return -(-units // (policy.count * _SECOND_US))


@lru_cache(maxsize=10_000)
def address_key(address: str) -> str:
    """Return the name of an address's bucket. An IPv6 subscriber has a whole /64, so those share a bucket."""
    try:
        ip = ip_address(address)
    except ValueError:
        return address[:_MAX_NAME_CHARS]
    if not isinstance(ip, IPv6Address):
        return str(ip)
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return f"{IPv6Address(int(ip) >> _HOSTS_BITS << _HOSTS_BITS)}/64"


@lru_cache(maxsize=10_000)
def network_key(address: str) -> str | None:
    """Return the /48 of an IPv6 address: providers assign one site up to 65,536 networks of /64. None for IPv4."""
    try:
        ip = ip_address(address)
    except ValueError:
        return None
    if not isinstance(ip, IPv6Address) or ip.ipv4_mapped is not None:
        return None
    return f"{IPv6Address(int(ip) >> _SITE_BITS << _SITE_BITS)}/48"
