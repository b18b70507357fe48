"""`take.lua` and `rules.py` agree: drawn takes under a drawn clock, on real servers. And the mutants do not."""

import asyncio
from dataclasses import replace
from typing import NamedTuple, cast

import pytest
from fixtures.engines import Namespace
from fixtures.names import read_name_key
from fixtures.redis_cluster import Servers
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tidings.kernel.ids import TenantId
from tidings.limits import rules
from tidings.limits.model import LimitKind, LimitPolicy, TakeResult, TokenRequest
from tidings.limits.rules import BucketState
from tidings.limits.store import TAKE, RedisBuckets, _numbers
from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.command_router import Script
from tidings.platform.redis.errors import RedisError

SINGLE = pytest.mark.parametrize("servers", ["valkey", "redis"], indirect=True)
KINDS = [LimitKind.TENANT, LimitKind.USER, LimitKind.ADDRESS]


class Step(NamedTuple):
    """A request for tokens of some buckets, some time later or earlier."""

    after_us: int
    tokens: dict[LimitKind, int]


policies = st.builds(
    LimitPolicy,
    count=st.integers(1, 10**6),
    period_s=st.sampled_from([1, 7, 60, 3_600, 86_400]),
    burst=st.one_of(st.integers(1, 5), st.integers(1, 50_000)),
)
step = st.builds(
    Step,
    st.one_of(st.integers(-2_000_000, 5_000_000), st.integers(0, 10**13)),
    st.dictionaries(st.sampled_from(KINDS), st.integers(1, 6), min_size=1),
)
drawn = given(st.fixed_dictionaries(dict.fromkeys(KINDS, policies)), st.lists(step, min_size=1, max_size=12))
EXAMPLES = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.generate],
)


def by_given_clock(script: Script, keys: int) -> Script:
    """The same text, with the clock in the last argument in place of the server's."""
    clock = "redis.call('TIME')"
    assert script.source.count(clock) == 1
    given_clock = "{math.floor(ARGV[#ARGV] / 1000000), ARGV[#ARGV] % 1000000}"
    return replace(script, source=script.source.replace(clock, given_clock), key_count=keys)


class ComparedBuckets:
    """The script and the rules on the same buckets."""

    def __init__(self, redis: RedisClient, script: Script, mark: str) -> None:
        self._redis = redis
        self._script = script
        self._buckets = RedisBuckets(redis, read_name_key, timeout_s=5.0)
        self._tenant = TenantId(mark)
        self._model: dict[LimitKind, BucketState] = {}

    async def run_steps(self, by_kind: dict[LimitKind, LimitPolicy], steps: list[Step]) -> None:
        now_us = 1_700_000_000_000_000
        for step in steps:
            now_us += step.after_us
            asks = [TokenRequest(kind, self._tenant, "x", tokens) for kind, tokens in step.tokens.items()]
            chosen = [by_kind[ask.kind] for ask in asks]
            assert await self.by_lua(asks, chosen, now_us) == self.by_rules(asks, chosen, now_us)

    async def by_lua(self, asks: list[TokenRequest], chosen: list[LimitPolicy], now_us: int) -> TakeResult:
        keys = await self._buckets.keys(asks, chosen)
        args = [n for ask, policy in zip(asks, chosen, strict=True) for n in _numbers(policy, ask.tokens)]
        script = by_given_clock(self._script, len(keys))
        is_allowed, *levels = cast(
            "list[int]", await self._redis.run(script, keys, *args, now_us, timeout_s=5.0)
        )
        return TakeResult(bool(is_allowed), tuple(levels))

    def by_rules(self, asks: list[TokenRequest], chosen: list[LimitPolicy], now_us: int) -> TakeResult:
        taking = rules.take([self._model.get(ask.kind) for ask in asks], chosen, asks, now_us)
        if taking.is_allowed:
            for ask, level in zip(asks, taking.levels, strict=True):
                self._model[ask.kind] = BucketState(level, now_us)
        return taking


def compare(servers: Servers, space: Namespace, script: Script) -> None:
    with asyncio.Runner() as runner:
        redis = runner.run(RedisClient.connect(replace(servers.options, key_prefix=space.key_prefix)))
        numbers = iter(range(10**9))

        @EXAMPLES
        @drawn
        def agree(by_kind: dict[LimitKind, LimitPolicy], steps: list[Step]) -> None:
            runner.run(ComparedBuckets(redis, script, f"t{next(numbers)}").run_steps(by_kind, steps))

        try:
            agree()
        finally:
            runner.run(redis.close())


@SINGLE
def test_the_script_and_the_rules_give_the_same_answers(servers: Servers, space: Namespace) -> None:
    compare(servers, space, TAKE)


MUTANTS: dict[str, tuple[str, str]] = {
    "a bucket overflows": (
        "math.min(capacity, tonumber(left) + elapsed * refill)",
        "tonumber(left) + elapsed * refill",
    ),
    "a clock set back takes tokens away": ("math.max(0, now - tonumber(at))", "now - tonumber(at)"),
    "some are taken though others refuse": (
        "  if enough then\n",
        "  if levels[i] >= tonumber(ARGV[3 * i]) then\n",
    ),
    "the last bucket alone decides": ("enough and level >= price", "level >= price"),
    "one token too many": ("enough and level >= price", "enough and level > 0"),
    "the time of the last take is kept back": ("levels[i], now), 'PX'", "levels[i], now - 1), 'PX'"),
    "refilled at half the rate": ("elapsed * refill", "elapsed * refill / 2"),
}


@pytest.mark.parametrize("servers", ["valkey"], indirect=True)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_faulty_script_is_detected(servers: Servers, space: Namespace, mutant: str) -> None:
    right, wrong = MUTANTS[mutant]
    assert right in TAKE.source
    # an overflow can also end in an expiry that the server does not take
    with pytest.raises((AssertionError, RedisError)):
        compare(servers, space, replace(TAKE, source=TAKE.source.replace(right, wrong)))
