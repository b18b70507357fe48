"""Buckets in Redis: one script and one round trip for any number of buckets. Redis' clock decides."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from typing import cast

from tidings.kernel.errors import TidingsError, UnavailableError
from tidings.kernel.ids import TenantId
from tidings.limits.model import NO_TENANT, LimitKind, LimitPolicy, ReadNameKey, TakeResult, TokenRequest
from tidings.limits.rules import token_cost
from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.command_router import Script
from tidings.platform.redis.errors import RedisError
from tidings.platform.redis.keys import Key, KeyBuilder

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
            number
            for ask, policy in zip(asks, policies, strict=True)
            for number in _numbers(policy, ask.tokens)
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
        secret, keys = await self._read_key(), self._redis.keys
        return [
            _bucket_key(keys, (ask.kind, ask.tenant, ask.name), policy.period_s, secret)
            for ask, policy in zip(asks, policies, strict=True)
        ]


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


@lru_cache(maxsize=20_000)
def _bucket_key(
    keys: KeyBuilder, bucket: tuple[LimitKind, TenantId, str], period_s: int, secret: bytes
) -> Key:
    kind, tenant, name = bucket
    hashed = _hashed(name, secret) if name else "-"
    owner = hashed if tenant == NO_TENANT else _TOGETHER
    return keys.key(tenant, owner, "limit", kind, hashed, str(period_s))


def _hashed(name: str, secret: bytes) -> str:
    return blake2b(name.encode(), key=secret, digest_size=16).hexdigest()


@lru_cache(maxsize=1_000)
def _numbers(policy: LimitPolicy, tokens: int) -> tuple[int, int, int]:
    return policy.capacity, policy.count, token_cost(policy, tokens)
