"""Buckets in Redis: one script, one round trip, whatever the number of buckets. Redis' clock is the clock."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import cast
from urllib.parse import quote

from tidings.kernel.ids import TenantId
from tidings.limits.model import NO_TENANT, Ask, Policy
from tidings.limits.ports import BucketsAwayError
from tidings.limits.rules import Taking, price
from tidings.platform.redis.client import Redis
from tidings.platform.redis.errors import RedisError
from tidings.platform.redis.keys import Key
from tidings.platform.redis.script import Script

TAKE = Script.load("tidings.limits", "take.lua", keys=1)
MAX_ASKS = 8
_BY_COUNT = {count: replace(TAKE, key_count=count) for count in range(1, MAX_ASKS + 1)}
_TOGETHER = "limits"
_KNOWN_S = 30 * 86_400


class RedisBuckets:
    """`timeout_s` is short: nobody waits for a limit longer than the work itself would take."""

    def __init__(self, redis: Redis, *, timeout_s: float) -> None:
        self._redis = redis
        self._timeout_s = timeout_s

    async def take(self, asks: Sequence[Ask], policies: Sequence[Policy], /) -> Taking:
        keys = [self.key(ask, policy) for ask, policy in zip(asks, policies, strict=True)]
        args = [
            number for ask, policy in zip(asks, policies, strict=True) for number in _numbers(ask, policy)
        ]
        try:
            reply = await self._redis.run(_BY_COUNT[len(keys)], keys, *args, timeout_s=self._timeout_s)
        except RedisError as error:
            raise BucketsAwayError(str(error)) from error
        is_allowed, *levels = cast("list[int]", reply)
        return Taking(bool(is_allowed), tuple(levels))

    def key(self, ask: Ask, policy: Policy) -> Key:
        """The buckets of a tenant share a slot. Addresses without a tenant need not, so they are spread.

        The period is in the key because the units of a level depend on it.
        """
        name = quote(ask.name, safe="") or "-"
        owner = name if ask.tenant == NO_TENANT else _TOGETHER
        return self._redis.keys.key(ask.tenant, owner, "limit", ask.kind, name, str(policy.period_s))


class RedisPlaces:
    """Names that were seen in the last 30 days. Without Redis none is known, and nothing is recorded."""

    def __init__(self, redis: Redis, *, timeout_s: float) -> None:
        self._redis = redis
        self._timeout_s = timeout_s

    async def knows(self, tenant: TenantId, name: str, /) -> bool:
        try:
            return await self._redis.read("EXISTS", self._key(tenant, name), timeout_s=self._timeout_s) == 1
        except RedisError:
            return False

    async def add(self, tenant: TenantId, name: str, /) -> None:
        with suppress(RedisError):
            key = self._key(tenant, name)
            await self._redis.write("SET", key, "1", "EX", _KNOWN_S, timeout_s=self._timeout_s)

    def _key(self, tenant: TenantId, name: str) -> Key:
        return self._redis.keys.key(tenant, quote(name, safe=""), "place")


def _numbers(ask: Ask, policy: Policy) -> tuple[int, int, int]:
    return policy.capacity, policy.count, price(policy, ask.tokens)
