"""A process that takes tokens as fast as possible with many concurrent callers, and prints how many it got."""

import asyncio
import sys
import time

from fixtures.names import read_name_key

from tidings.kernel.ids import TenantId
from tidings.limits.model import LimitKind, LimitPolicy, TokenRequest
from tidings.limits.store import RedisBuckets
from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.errors import Address
from tidings.platform.redis.options import RedisOptions


async def caller(
    buckets: RedisBuckets, asks: list[TokenRequest], policies: list[LimitPolicy], ends_at: float
) -> int:
    allowed = 0
    while time.monotonic() < ends_at:
        allowed += (await buckets.take(asks, policies)).is_allowed
    return allowed


async def main(options: RedisOptions, callers: int, for_s: float, narrow: LimitPolicy) -> None:
    redis = await RedisClient.connect(options)
    buckets = RedisBuckets(redis, read_name_key, timeout_s=5.0)
    acme = TenantId("acme")
    asks = [TokenRequest(LimitKind.USER, acme, "anna"), TokenRequest(LimitKind.TENANT, acme)]
    wide = LimitPolicy(count=10**6, period_s=1, burst=10**6)
    ends_at = time.monotonic() + for_s
    counts = await asyncio.gather(*(caller(buckets, asks, [narrow, wide], ends_at) for _ in range(callers)))
    print(sum(counts))
    await redis.close()


if __name__ == "__main__":
    port, prefix, callers, for_s, rate, burst, is_cluster = sys.argv[1:]
    seeds = (Address("127.0.0.1", int(port)),)
    options = RedisOptions(seeds=seeds, key_prefix=prefix, is_cluster=is_cluster == "True")
    narrow = LimitPolicy(count=int(rate), period_s=1, burst=int(burst))
    asyncio.run(main(options, int(callers), float(for_s), narrow))
