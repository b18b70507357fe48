"""The connection registry in Redis.

Every change is one Lua script, so it is atomic, and times come from the clock of Redis. All keys of a user are in one
hash slot. A call for many users runs one script per user, and all of these are in flight together.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import batched
from typing import cast, final
from urllib.parse import quote

from tidings.connections.model import (
    GatewayId,
    HeldRoute,
    LookupResult,
    RegistrationResult,
    RenewalResult,
    Route,
)
from tidings.kernel.concurrency import gather_results
from tidings.kernel.ids import DeviceId, DeviceKey, TenantId, UserId
from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.command_router import Script
from tidings.platform.redis.errors import RedisError, translate_redis_errors
from tidings.platform.redis.keys import Key
from tidings.platform.redis.pipeline import Reply

REGISTER = Script.load("tidings.connections", "register.lua", keys=2)
RENEW = Script.load("tidings.connections", "renew.lua", keys=2)
REMOVE = Script.load("tidings.connections", "remove.lua", keys=2)
LOOK_UP = Script.load("tidings.connections", "look_up.lua", keys=1, is_read=True)
OFFLINE_AFTER = Script.load("tidings.connections", "offline_after.lua", keys=2, is_read=True)
KEEP_ALIVE = Script.load("tidings.connections", "keep_alive.lua", keys=1)
CLAIM_VANISHED = Script.load("tidings.connections", "claim_vanished.lua", keys=1)

MAX_PER_CALL = 500
"""Maximum number of concurrent scripts per call. More of them only wait for each other."""
LAST_SEEN_TTL_MS = 30 * 86_400_000
"""How long Redis remembers when a user was last connected."""
RECONNECT_MS = 30_000
"""How long the users of a vanished gateway may take to reconnect before they count as offline."""
_CLAIM_MS = 60_000
_MAX_CLAIMED = 10
_LOST, _ELSEWHERE = 1, 2


@final
class RedisConnectionRegistry:
    def __init__(self, redis: RedisClient, *, lease_s: float, renew_every_s: float = 0.0) -> None:
        self._redis = redis
        self._lease_ms = round(lease_s * 1000)
        # The last renewal was at most `renew_every_s` before the gateway vanished.
        self._registration_ms = RECONNECT_MS + round(renew_every_s * 1000)

    async def register(self, device: DeviceKey, gateway: GatewayId) -> RegistrationResult:
        # Race: two sockets of one device register at two gateways. Redis runs one script at a time, so the second route
        # replaces the first under a higher epoch, and the second gateway makes the first one close its socket. If the
        # client still uses that socket, it reconnects.
        epoch, *before = await self._register(device, gateway, 0)
        if not before:
            return RegistrationResult(int(epoch), None)
        return RegistrationResult(
            int(epoch), Route(device.device, GatewayId(before[0].decode()), int(before[1]))
        )

    async def reregister(self, device: DeviceKey, gateway: GatewayId, had: int) -> RegistrationResult | None:
        # Race: our heartbeat finds the route missing while the device connects to another gateway. If that gateway
        # registers first, its route has another epoch than `had`, the script changes nothing, and we close our socket.
        epoch, *_ = await self._register(device, gateway, had)
        return RegistrationResult(int(epoch), None) if int(epoch) else None

    async def _register(self, device: DeviceKey, gateway: GatewayId, had: int) -> list[bytes]:
        keys = self._keys(device.tenant, device.user)
        arguments = (device.device, gateway, self._lease_ms, had, LAST_SEEN_TTL_MS)
        with translate_redis_errors():
            _, reply = await asyncio.gather(
                self._redis.write("SADD", self._held_key(gateway), _held_member(device)),
                self._redis.run(REGISTER, keys, *arguments),
            )
        return cast("list[bytes]", reply)

    async def renew(self, gateway: GatewayId, held: Sequence[HeldRoute]) -> RenewalResult:
        users: dict[tuple[TenantId, UserId], list[HeldRoute]] = {}
        for each in held:
            users.setdefault(each.device[:2], []).append(each)

        async def renew(user: tuple[TenantId, UserId]) -> list[int]:
            # Race: the device disconnects, or connects to another gateway, after this gateway listed its routes. The
            # script compares gateway and epoch: it restores no removed route and extends none of another socket.
            pairs = [part for each in users[user] for part in (each.device.device, each.epoch)]
            arguments = (gateway, self._lease_ms, LAST_SEEN_TTL_MS, *pairs)
            reply = await self._redis.run(RENEW, self._keys(*user), *arguments)
            return cast("list[int]", reply)

        answers = await call_each(renew, list(users))
        outcomes = [
            (each.device, outcome)
            for user, replies in answers.found.items()
            for each, outcome in zip(users[user], replies, strict=True)
        ]
        return RenewalResult(
            [device for device, outcome in outcomes if outcome == _LOST],
            [device for device, outcome in outcomes if outcome == _ELSEWHERE],
            [each.device for user in answers.unknown for each in users[user]],
        )

    async def remove(
        self, device: DeviceKey, gateway: GatewayId, epoch: int, *, is_closed: bool = False
    ) -> bool:
        # Race: a worker or an old gateway removes a route while the device registers with a new gateway. The script
        # compares gateway and epoch, so the new route is not removed.
        with translate_redis_errors():
            keys, held = self._keys(device.tenant, device.user), self._held_key(gateway)
            if is_closed:
                await self._redis.write("SREM", held, _held_member(device))
            arguments = (device.device, gateway, epoch, LAST_SEEN_TTL_MS, int(is_closed))
            is_removed = bool(await self._redis.run(REMOVE, keys, *arguments))
            if is_closed and not is_removed:
                # Race: the device reconnected to this gateway before its old route was removed. It is still held.
                await self._redis.write("SADD", held, _held_member(device))
            return is_removed

    async def offline_after_ms(self, tenant: TenantId, user: UserId) -> int | None:
        with translate_redis_errors():
            reply = await self._redis.run(OFFLINE_AFTER, self._keys(tenant, user), self._registration_ms)
        wait_ms = cast("int", reply)
        return None if wait_ms < 0 else wait_ms

    async def keep_alive(self, gateway: GatewayId) -> None:
        with translate_redis_errors():
            await self._redis.run(KEEP_ALIVE, [self._gateways_key()], gateway, self._registration_ms)

    async def claim(self) -> Sequence[GatewayId]:
        with translate_redis_errors():
            reply = await self._redis.run(CLAIM_VANISHED, [self._gateways_key()], _CLAIM_MS, _MAX_CLAIMED)
        return [GatewayId(name.decode()) for name in cast("list[bytes]", reply)]

    async def users(self, gateway: GatewayId) -> Sequence[tuple[TenantId, UserId]]:
        with translate_redis_errors():
            reply = await self._redis.read("SMEMBERS", self._held_key(gateway))
        parts = [member.decode().split("\0") for member in cast("Iterable[bytes]", reply)]
        return sorted({(TenantId(tenant), UserId(user)) for tenant, user, _ in parts})

    async def sign_off(self, gateway: GatewayId) -> None:
        with translate_redis_errors():
            await self._redis.write("DEL", self._held_key(gateway))
            await self._redis.write("ZREM", self._gateways_key(), gateway)

    async def look_up(
        self, tenant: TenantId, users: Sequence[UserId]
    ) -> LookupResult[UserId, Sequence[Route]]:
        # Race: a gateway registers a route while a worker looks it up. The worker relies on finding every route that
        # was registered before its look-up, so the look-up runs at the primary, where routes are written.
        answers = await run_each(
            self._redis, LOOK_UP, {user: [self._routes_key(tenant, user)] for user in users}
        )
        found = {
            user: routes_from_reply(cast("list[bytes]", reply))
            for user, reply in answers.found.items()
            if reply
        }
        return LookupResult(found, answers.unknown, answers.failure)

    def _gateways_key(self) -> Key:
        return self._redis.keys.key("_system", "gateways", "registrations")

    def _held_key(self, gateway: GatewayId) -> Key:
        return self._redis.keys.key("_system", gateway, "devices")

    def _routes_key(self, tenant: TenantId, user: UserId) -> Key:
        return self._redis.keys.key(tenant, quote_key_part(user), "routes")

    def _keys(self, tenant: TenantId, user: UserId) -> list[Key]:
        return user_keys(self._redis, tenant, user)


def _held_member(device: DeviceKey) -> str:
    return "\0".join(device)


def user_keys(redis: RedisClient, tenant: TenantId, user: UserId) -> list[Key]:
    """Return the keys of a user's routes and presence, which are in one hash slot."""
    name = quote_key_part(user)
    return [redis.keys.key(tenant, name, "routes"), redis.keys.key(tenant, name, "seen")]


def routes_from_reply(reply: list[bytes]) -> list[Route]:
    return [
        Route(DeviceId(device.decode()), GatewayId(gateway.decode()), int(epoch))
        for device, gateway, epoch in batched(reply, 3)
    ]


async def run_each[K](
    redis: RedisClient, script: Script, keys: Mapping[K, Sequence[Key]]
) -> LookupResult[K, Reply]:
    """Run a script that only reads for the keys of each user. The users of a shard that does not answer are unknown."""
    found: dict[K, Reply] = {}
    failed: dict[K, RedisError] = {}
    for some in batched(keys, MAX_PER_CALL):
        for key, reply in zip(some, await redis.run_each(script, [keys[key] for key in some]), strict=True):
            if isinstance(reply, RedisError):
                failed[key] = reply
            else:
                found[key] = reply
    return LookupResult(found, frozenset(failed), next((str(error) for error in failed.values()), ""))


async def call_each[K, V](call: Callable[[K], Awaitable[V]], keys: Sequence[K]) -> LookupResult[K, V]:
    """Call once per key, concurrently. The keys of a shard that does not answer are unknown; other errors are raised."""
    found: dict[K, V] = {}
    failed: dict[K, RedisError] = {}
    for key, outcome in zip(keys, await gather_results(map(call, keys), MAX_PER_CALL), strict=True):
        if isinstance(outcome, RedisError):
            failed[key] = outcome
        elif isinstance(outcome, BaseException):
            raise outcome
        else:
            found[key] = outcome
    return LookupResult(found, frozenset(failed), next((str(error) for error in failed.values()), ""))


@lru_cache(maxsize=50_000)
def quote_key_part(name: str) -> str:
    """Quote characters that would change the hash slot of a key. Different names stay different."""
    return name if set("{}%").isdisjoint(name) else quote(name, safe="")
