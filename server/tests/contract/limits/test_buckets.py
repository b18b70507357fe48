"""Buckets on real servers, single and clustered: shared, atomic, on one slot, gone when they are full again."""

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fixtures.engines import Space
from fixtures.redis_cluster import Connect, Servers
from fixtures.relay import relay_to

from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import TenantId
from tidings.limits.limit import Limiter
from tidings.limits.local import LocalBuckets
from tidings.limits.model import NO_TENANT, Ask, Kind, Policy
from tidings.limits.store import RedisBuckets, RedisPlaces
from tidings.platform.redis.client import Redis
from tidings.platform.redis.keys import slot
from tidings.platform.redis.options import Options

ACME, OTHER = TenantId("acme"), TenantId("other")
SLOW = Policy(count=1, period_s=3_600, burst=3)
TESTS = Path(__file__).parents[2]


def limiter(redis: Redis, timeout_s: float = 1.0, policy: Policy = SLOW) -> Limiter:
    clock = SystemClock()
    shared = RedisBuckets(redis, timeout_s=timeout_s)
    return Limiter(shared, LocalBuckets(clock), dict.fromkeys(Kind, policy), clock, retry_s=0.05)


async def test_a_burst_is_let_in_and_no_more_for_each_of_them_apart(
    servers: Servers, connect: Connect
) -> None:
    async with connect(servers) as redis:
        limit = limiter(redis)
        for tenant, name in ((ACME, "anna"), (OTHER, "anna"), (ACME, "fe80::1%eth0"), (ACME, "{x}:#")):
            verdicts = [await limit.take([Ask(Kind.USER, tenant, name)]) for _ in range(4)]
            assert [each.is_allowed for each in verdicts] == [True, True, True, False]
            assert [each.remaining for each in verdicts] == [2, 1, 0, 0]
            assert 3_595 <= verdicts[3].retry_after_s <= 3_600
            assert not any(each.is_local for each in verdicts)


async def test_two_processes_share_the_buckets(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as one, connect(servers) as two:
        ask = [Ask(Kind.USER, ACME, "anna"), Ask(Kind.TENANT, ACME), Ask(Kind.ADDRESS, ACME, "192.0.2.1")]
        allowed = [(await limiter(redis).take(ask)).is_allowed for redis in (one, two, one, two, one)]
        assert allowed == [True, True, True, False, False]


async def test_none_is_taken_unless_all_allow(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        limit = limiter(redis)
        for _ in range(3):
            await limit.take([Ask(Kind.TENANT, ACME)])
        both = await limit.take([Ask(Kind.USER, ACME, "anna"), Ask(Kind.TENANT, ACME)])
        assert (both.is_allowed, both.kind) == (False, Kind.TENANT)
        assert (await limit.take([Ask(Kind.USER, ACME, "anna")])).remaining == 2


async def test_strangers_addresses_are_spread_over_the_slots(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        buckets = RedisBuckets(redis, timeout_s=1.0)
        keys = [buckets.key(Ask(Kind.ADDRESS, NO_TENANT, f"192.0.2.{n}"), SLOW) for n in range(20)]
        assert len({slot(key) for key in keys}) > 10
        assert all("{_system#" in key for key in keys)
        assert (await limiter(redis).take([Ask(Kind.ADDRESS, NO_TENANT, "192.0.2.1")])).remaining == 2


async def test_a_bucket_that_is_full_again_leaves_nothing_behind(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        buckets = RedisBuckets(redis, timeout_s=1.0)
        ask, policy = Ask(Kind.USER, ACME, "anna"), Policy(count=1, period_s=10, burst=5)
        await buckets.take([ask], [policy])
        left_ms = await redis.read("PTTL", buckets.key(ask, policy))
        assert isinstance(left_ms, int)
        assert 60_000 < left_ms <= 70_001, "ten seconds to be full, and a minute more"


async def test_a_place_that_was_added_is_known_to_its_tenant_for_thirty_days(
    servers: Servers, connect: Connect
) -> None:
    async with connect(servers) as redis:
        places = RedisPlaces(redis, timeout_s=1.0)
        assert not await places.knows(ACME, "+491 192.0.2.1")
        await places.add(ACME, "+491 192.0.2.1")
        assert await places.knows(ACME, "+491 192.0.2.1")
        assert not await places.knows(OTHER, "+491 192.0.2.1")
        assert not await places.knows(ACME, "+491 192.0.2.2")


@pytest.mark.parametrize("servers", ["valkey", "redis", "valkey-cluster"], indirect=True)
def test_four_processes_with_fifty_callers_get_the_burst_and_the_rate_and_no_more(
    servers: Servers, space: Space
) -> None:
    rate, burst, for_s = 300, 200, 2.0
    port = servers.nodes[0].port
    words = [sys.executable, "-m", "contract.limits.hammer", str(port), space.key_prefix]
    began = time.monotonic()
    hammers = [
        subprocess.Popen(
            [*words, str(callers), str(for_s), str(rate), str(burst), str(servers.is_cluster)],
            stdout=subprocess.PIPE,
            cwd=TESTS,
        )
        for callers in (13, 13, 12, 12)
    ]
    allowed = sum(int(hammer.communicate(timeout=40)[0]) for hammer in hammers)
    took_s = time.monotonic() - began
    assert allowed <= burst + rate * took_s
    assert allowed >= burst + rate * for_s * 0.9, "and what they may have, they get"


@pytest.mark.parametrize("servers", ["valkey", "redis"], indirect=True)
async def test_a_server_that_is_deaf_or_gone_costs_a_short_wait_and_the_limit_holds_here(
    servers: Servers, space: Space
) -> None:
    async with relay_to(servers.nodes[0].port) as relay:
        options = Options.from_url(f"redis://127.0.0.1:{relay.port}")
        redis = await Redis.connect(Options(seeds=options.seeds, key_prefix=space.key_prefix))
        limit = limiter(redis, timeout_s=0.1)
        ask = [Ask(Kind.USER, ACME, "anna")]
        assert not (await limit.take(ask)).is_local
        relay.is_deaf = True
        began = time.monotonic()
        verdicts = [await limit.take(ask) for _ in range(5)]
        assert time.monotonic() - began < 1.0, "one waited, the others did not"
        assert [each.is_allowed for each in verdicts] == [True, True, True, False, False]
        assert all(each.is_local for each in verdicts)
        relay.is_deaf = False
        relay.cut()
        await until_shared(limit)
        assert limit.trouble == ""
        await redis.close()


async def until_shared(limit: Limiter) -> None:
    began = time.monotonic()
    while (await limit.take([Ask(Kind.ADDRESS, NO_TENANT, "192.0.2.9")])).is_local:
        assert time.monotonic() - began < 10
        await asyncio.sleep(0.01)
