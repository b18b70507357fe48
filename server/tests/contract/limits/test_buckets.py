"""Buckets on real servers, single and clustered: shared, atomic, on one slot, gone when they are full again."""

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fixtures.engines import Namespace
from fixtures.names import read_name_key
from fixtures.redis_cluster import Connect, Servers
from fixtures.tcp_relay import relay_to

from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import TenantId
from tidings.limits.limiter import LocalBuckets, RateLimiter
from tidings.limits.model import NO_TENANT, LimitKind, LimitPolicy, TokenRequest
from tidings.limits.store import RedisBuckets, RedisKnownAddresses
from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.keys import slot
from tidings.platform.redis.options import RedisOptions

ACME, OTHER = TenantId("acme"), TenantId("other")
SLOW = LimitPolicy(count=1, period_s=3_600, burst=3)
TESTS = Path(__file__).parents[2]


def limiter(redis: RedisClient, timeout_s: float = 1.0, policy: LimitPolicy = SLOW) -> RateLimiter:
    clock = SystemClock()
    shared = RedisBuckets(redis, read_name_key, timeout_s=timeout_s)
    return RateLimiter(shared, LocalBuckets(clock), dict.fromkeys(LimitKind, policy), clock, retry_s=0.05)


async def test_each_bucket_accepts_its_own_burst_and_no_more(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        limit = limiter(redis)
        for tenant, name in ((ACME, "anna"), (OTHER, "anna"), (ACME, "fe80::1%eth0"), (ACME, "{x}:#")):
            verdicts = [await limit.take([TokenRequest(LimitKind.USER, tenant, name)]) for _ in range(4)]
            assert [each.is_allowed for each in verdicts] == [True, True, True, False]
            assert [each.remaining for each in verdicts] == [2, 1, 0, 0]
            assert 3_595 <= verdicts[3].retry_after_s <= 3_600
            assert not any(each.is_local for each in verdicts)


async def test_two_processes_share_the_buckets(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as one, connect(servers) as two:
        ask = [
            TokenRequest(LimitKind.USER, ACME, "anna"),
            TokenRequest(LimitKind.TENANT, ACME),
            TokenRequest(LimitKind.ADDRESS, ACME, "192.0.2.1"),
        ]
        allowed = [(await limiter(redis).take(ask)).is_allowed for redis in (one, two, one, two, one)]
        assert allowed == [True, True, True, False, False]


async def test_no_bucket_is_charged_unless_all_allow(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        limit = limiter(redis)
        for _ in range(3):
            await limit.take([TokenRequest(LimitKind.TENANT, ACME)])
        both = await limit.take(
            [TokenRequest(LimitKind.USER, ACME, "anna"), TokenRequest(LimitKind.TENANT, ACME)]
        )
        assert (both.is_allowed, both.kind) == (False, LimitKind.TENANT)
        assert (await limit.take([TokenRequest(LimitKind.USER, ACME, "anna")])).remaining == 2


async def test_unauthenticated_addresses_are_spread_over_the_slots(
    servers: Servers, connect: Connect
) -> None:
    async with connect(servers) as redis:
        buckets = RedisBuckets(redis, read_name_key, timeout_s=1.0)
        asks = [TokenRequest(LimitKind.ADDRESS, NO_TENANT, f"192.0.2.{n}") for n in range(20)]
        keys = await buckets.keys(asks, [SLOW] * len(asks))
        assert len({slot(key) for key in keys}) > 10
        assert all("{_system#" in key for key in keys)
        assert (
            await limiter(redis).take([TokenRequest(LimitKind.ADDRESS, NO_TENANT, "192.0.2.1")])
        ).remaining == 2


async def test_no_key_in_redis_shows_a_number_an_address_or_a_user(
    servers: Servers, connect: Connect
) -> None:
    async with connect(servers) as redis:
        number, address = "+4915112345678", "192.0.2.77"
        asks = [
            TokenRequest(LimitKind.CODE_NUMBER, ACME, number),
            TokenRequest(LimitKind.CODE_ADDRESS, ACME, address),
            TokenRequest(LimitKind.USER, ACME, "anna"),
        ]
        buckets = RedisBuckets(redis, read_name_key, timeout_s=1.0)
        keys = " ".join(await buckets.keys(asks, [SLOW] * 3))
        assert not any(name in keys for name in (number[1:], address, "anna"))
        assert len(set(await buckets.keys(asks, [SLOW] * 3))) == 3


async def test_a_bucket_that_is_full_again_leaves_nothing_behind(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        buckets = RedisBuckets(redis, read_name_key, timeout_s=1.0)
        ask, policy = TokenRequest(LimitKind.USER, ACME, "anna"), LimitPolicy(count=1, period_s=10, burst=5)
        await buckets.take([ask], [policy])
        left_ms = await redis.read("PTTL", (await buckets.keys([ask], [policy]))[0])
        assert isinstance(left_ms, int)
        assert 60_000 < left_ms <= 70_001, "ten seconds to be full, and a minute more"


async def test_an_added_address_is_known_to_its_tenant_for_thirty_days(
    servers: Servers, connect: Connect
) -> None:
    async with connect(servers) as redis:
        places = RedisKnownAddresses(redis, read_name_key, timeout_s=1.0)
        assert not await places.knows(ACME, "+491 192.0.2.1")
        await places.add(ACME, "+491 192.0.2.1")
        assert await places.knows(ACME, "+491 192.0.2.1")
        assert not await places.knows(OTHER, "+491 192.0.2.1")
        assert not await places.knows(ACME, "+491 192.0.2.2")


@pytest.mark.parametrize("servers", ["valkey", "redis", "valkey-cluster"], indirect=True)
def test_four_processes_with_fifty_callers_get_the_burst_and_the_rate_and_no_more(
    servers: Servers, space: Namespace
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
async def test_an_unavailable_server_costs_a_short_wait_and_the_limit_applies_locally(
    servers: Servers, space: Namespace
) -> None:
    async with relay_to(servers.nodes[0].port) as relay:
        options = RedisOptions.from_url(f"redis://127.0.0.1:{relay.port}")
        redis = await RedisClient.connect(RedisOptions(seeds=options.seeds, key_prefix=space.key_prefix))
        limit = limiter(redis, timeout_s=0.1)
        ask = [TokenRequest(LimitKind.USER, ACME, "anna")]
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


async def until_shared(limit: RateLimiter) -> None:
    began = time.monotonic()
    while (await limit.take([TokenRequest(LimitKind.ADDRESS, NO_TENANT, "192.0.2.9")])).is_local:
        assert time.monotonic() - began < 10
        await asyncio.sleep(0.01)
