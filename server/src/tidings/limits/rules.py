"""The arithmetic of the buckets, in whole units and microseconds. `take.lua` does the same; a test holds them together."""

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
    """As it was left. One that nobody has touched is full."""

    level: int
    at_us: int


def level_at(bucket: BucketState | None, policy: LimitPolicy, now_us: int) -> int:
    """What is in it now. A clock that was set back brings nothing, and is believed from then on."""
    if bucket is None:
        return policy.capacity
    refill = max(0, now_us - bucket.at_us) * policy.count
    return min(policy.capacity, bucket.level + refill)


def token_cost(policy: LimitPolicy, tokens: int) -> int:
    return min(tokens, policy.burst) * policy.token


def policy_for(per_s: float, burst: int) -> LimitPolicy:
    """The nearest that can be counted in whole units; slower than one an hour is one an hour."""
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
    told = [
        _retry_after(*each, is_allowed=taking.is_allowed, is_local=is_local)
        for each in zip(policies, asks, taking.levels, strict=True)
    ]
    if taking.is_allowed:
        return min(told, key=lambda each: each.remaining)
    return max(told, key=lambda each: each.retry_after_s)


def _retry_after(
    policy: LimitPolicy, ask: TokenRequest, level: int, *, is_allowed: bool, is_local: bool
) -> LimitVerdict:
    short = 0 if is_allowed else token_cost(policy, ask.tokens) - level
    return LimitVerdict(
        is_allowed=is_allowed,
        kind=ask.kind,
        limit=policy.burst,
        remaining=level // policy.token,
        window_s=_seconds(policy.capacity, policy),
        reset_s=_seconds(policy.capacity - level, policy),
        retry_after_s=_seconds(max(0, short), policy),
        is_local=is_local,
    )


def wait_until_allowed_s(policy: LimitPolicy, ask: TokenRequest, level: int) -> float:
    """Nobody is let in earlier, whatever the others do: they only take."""
    return max(0, token_cost(policy, ask.tokens) - level) / (policy.count * _SECOND_US)


def _seconds(units: int, policy: LimitPolicy) -> int:
    """Until so many units are there, in whole seconds: never too early."""
    return -(-units // (policy.count * _SECOND_US))


@lru_cache(maxsize=10_000)
def address_key(address: str) -> str:
    """Whom an address stands for. With IPv6 one subscriber has a whole /64, and may come from any address in it."""
    try:
        place = ip_address(address)
    except ValueError:
        return address[:_MAX_NAME_CHARS]
    if not isinstance(place, IPv6Address):
        return str(place)
    if place.ipv4_mapped is not None:
        return str(place.ipv4_mapped)
    return f"{IPv6Address(int(place) >> _HOSTS_BITS << _HOSTS_BITS)}/64"


@lru_cache(maxsize=10_000)
def network_key(address: str) -> str | None:
    """Return the /48 of an IPv6 address: providers assign one site up to 65,536 networks of /64. None for IPv4."""
    try:
        place = ip_address(address)
    except ValueError:
        return None
    if not isinstance(place, IPv6Address) or place.ipv4_mapped is not None:
        return None
    return f"{IPv6Address(int(place) >> _SITE_BITS << _SITE_BITS)}/48"
