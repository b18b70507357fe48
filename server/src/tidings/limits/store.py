"""Buckets in Redis: one script and one round trip for any number of buckets. Redis' clock decides."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from typing import cast

from tidings.kernel.errors import TidingsError, UnavailableError
from tidings.kernel.ids import TenantId
from tidings.limits.model import NO_TENANT, LimitPolicy, ReadNameKey, TakeResult, TokenRequest
from tidings.limits.rules import token_cost
from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.command_router import Script
from tidings.platform.redis.errors import RedisError
from tidings.platform.redis.keys import Key

TAKE = Script.load("tidings.limits", "take.lua", keys=1)
MAX_ASKS = 8
_BY_COUNT = {count: replace(TAKE, key_count=count) for count in range(1, MAX_ASKS + 1)}
_TOGETHER = "limits"
_KNOWN_S = 30 * 86_400


class RedisBuckets:
    """Buckets in Redis. `timeout_s` is short: a limit must not take longer than the request that it limits.

    Names of buckets are addresses, phone numbers and users. They are hashed with a key, so that neither Redis nor its
    append-only file contains them.
    """

    def __init__(self, redis: RedisClient, read_key: ReadNameKey, *, timeout_s: float) -> None:
        self._redis = redis
        self._read_key = read_key
        self._timeout_s = timeout_s

    async def take(self, asks: Sequence[TokenRequest], policies: Sequence[LimitPolicy], /) -> TakeResult:
        try:
            keys = await self.keys(asks, policies)
        except TidingsError as error:
            raise UnavailableError(str(error)) from error
        args = [
            number for ask, policy in zip(asks, policies, strict=True) for number in _numbers(ask, policy)
        ]
        try:
            reply = await self._redis.run(_BY_COUNT[len(keys)], keys, *args, timeout_s=self._timeout_s)
        except RedisError as error:
            raise UnavailableError(f"Redis: {error}") from error
        is_allowed, *levels = cast("list[int]", reply)
        return TakeResult(bool(is_allowed), tuple(levels))

    async def keys(self, asks: Sequence[TokenRequest], policies: Sequence[LimitPolicy]) -> list[Key]:
        """Return the keys of buckets. Those of a tenant share a slot; those without a tenant are spread over all slots.

        A key contains the period, because the units of a level depend on it.
        """
        secret = await self._read_key()
        return [self._key(ask, policy, secret) for ask, policy in zip(asks, policies, strict=True)]

    def _key(self, ask: TokenRequest, policy: LimitPolicy, secret: bytes) -> Key:
        name = _hashed(ask.name, secret) if ask.name else "-"
        owner = name if ask.tenant == NO_TENANT else _TOGETHER
        return self._redis.keys.key(ask.tenant, owner, "limit", ask.kind, name, str(policy.period_s))


class RedisKnownAddresses:
    """Names of the last 30 days. While Redis is unavailable, no name is known and none is recorded."""

    def __init__(self, redis: RedisClient, read_key: ReadNameKey, *, timeout_s: float) -> None:
        self._redis = redis
        self._read_key = read_key
        self._timeout_s = timeout_s

    async def knows(self, tenant: TenantId, name: str, /) -> bool:
        try:
            key = await self._key(tenant, name)
            return await self._redis.read("EXISTS", key, timeout_s=self._timeout_s) == 1
        except (RedisError, TidingsError):
            return False

    async def add(self, tenant: TenantId, name: str, /) -> None:
        with suppress(RedisError, TidingsError):
            key = await self._key(tenant, name)
            await self._redis.write("SET", key, "1", "EX", _KNOWN_S, timeout_s=self._timeout_s)

    async def _key(self, tenant: TenantId, name: str) -> Key:
        return self._redis.keys.key(tenant, _hashed(name, await self._read_key()), "place")


def _hashed(name: str, secret: bytes) -> str:
    return blake2b(name.encode(), key=secret, digest_size=16).hexdigest()


def _numbers(ask: TokenRequest, policy: LimitPolicy) -> tuple[int, int, int]:
    return policy.capacity, policy.count, token_cost(policy, ask.tokens)
