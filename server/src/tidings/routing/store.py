"""Routes, marks and the line in Redis. Its clock is the clock, its scripts make each step one.

All keys of a user stand in one slot; so do a chat's. Calls for many users leave together, one for each.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import batched
from typing import cast, final
from urllib.parse import quote

from tidings.kernel.ids import ChatKey, DeviceId, DeviceKey, TenantId, UserId
from tidings.platform.redis import events
from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.errors import RedisError
from tidings.platform.redis.keys import Key
from tidings.platform.redis.script import Script
from tidings.platform.redis.subscription import ChannelSubscription
from tidings.routing.model import GatewayId, LookupResult, RegistrationResult, Route
from tidings.routing.ports import (
    BusHandler,
    HeldRoute,
    RegistryUnavailableError,
    RenewalResult,
    Subscribed,
    SubscriptionLost,
)
from tidings.signs.model import Presence, PresenceRecord, PresenceStatus

_PACKAGE = "tidings.routing"
REGISTER = Script.load(_PACKAGE, "register.lua", keys=2)
RENEW = Script.load(_PACKAGE, "renew.lua", keys=2)
REMOVE = Script.load(_PACKAGE, "remove.lua", keys=2)
SET_AWAY = Script.load(_PACKAGE, "set_away.lua", keys=2)
PRESENCE = Script.load(_PACKAGE, "presence.lua", keys=2, is_read=True)
LOOK_UP = Script.load(_PACKAGE, "look_up.lua", keys=1, is_read=True)
ADVANCE_CHECKPOINT = Script.load(_PACKAGE, "mark.lua", keys=1)
SUBSCRIBER_COUNT = Script.load(_PACKAGE, "listeners.lua", keys=1, is_read=True)

MAX_PER_CALL = 500
"""Calls that leave together: more would only wait in each other's way."""
CHECKPOINT_TTL_S = 3 * 86_400
"""Longer than the stream keeps what a mark is held against."""
LAST_SEEN_TTL_MS = 30 * 86_400_000
"""How long it is known when somebody was last there."""
_LOST, _ELSEWHERE = 1, 2


@final
class RedisConnectionRegistry:
    def __init__(self, redis: RedisClient, *, lease_s: float) -> None:
        self._redis = redis
        self._lease_ms = round(lease_s * 1000)

    async def register(self, device: DeviceKey, gateway: GatewayId) -> RegistrationResult:
        epoch, *before = await self._register(device, gateway, 0)
        if not before:
            return RegistrationResult(int(epoch), None)
        return RegistrationResult(
            int(epoch), Route(device.device, GatewayId(before[0].decode()), int(before[1]))
        )

    async def reregister(self, device: DeviceKey, gateway: GatewayId, had: int) -> RegistrationResult | None:
        epoch, *_ = await self._register(device, gateway, had)
        return RegistrationResult(int(epoch), None) if int(epoch) else None

    async def _register(self, device: DeviceKey, gateway: GatewayId, had: int) -> list[bytes]:
        keys = self._keys(device.tenant, device.user)
        given = (device.device, gateway, self._lease_ms, had, LAST_SEEN_TTL_MS)
        with translate_redis_errors():
            reply = await self._redis.run(REGISTER, keys, *given)
        return cast("list[bytes]", reply)

    async def renew(self, gateway: GatewayId, held: Sequence[HeldRoute]) -> RenewalResult:
        """One call for each user, however many devices he has here."""
        users: dict[tuple[TenantId, UserId], list[HeldRoute]] = {}
        for each in held:
            users.setdefault(each.device[:2], []).append(each)

        async def renew(user: tuple[TenantId, UserId]) -> list[int]:
            pairs = [part for each in users[user] for part in (each.device.device, each.epoch)]
            given = (gateway, self._lease_ms, LAST_SEEN_TTL_MS, *pairs)
            reply = await self._redis.run(RENEW, self._keys(*user), *given)
            return cast("list[int]", reply)

        answers = await call_each(renew, list(users))
        told = [
            (each.device, a)
            for user, many in answers.found.items()
            for each, a in zip(users[user], many, strict=True)
        ]
        return RenewalResult(
            [d for d, a in told if a == _LOST],
            [d for d, a in told if a == _ELSEWHERE],
            [each.device for user in answers.unknown for each in users[user]],
        )

    async def remove(self, device: DeviceKey, gateway: GatewayId, epoch: int) -> bool:
        with translate_redis_errors():
            keys = self._keys(device.tenant, device.user)
            return bool(await self._redis.run(REMOVE, keys, device.device, gateway, epoch, LAST_SEEN_TTL_MS))

    async def look_up(
        self, tenant: TenantId, users: Sequence[UserId]
    ) -> LookupResult[UserId, Sequence[Route]]:
        async def look_up(user: UserId) -> list[bytes]:
            return cast("list[bytes]", await self._redis.run(LOOK_UP, self._keys(tenant, user)[:1]))

        answers = await call_each(look_up, users)
        found = {user: routes_from_reply(some) for user, some in answers.found.items() if some}
        return LookupResult(found, answers.unknown, answers.failure)

    def _keys(self, tenant: TenantId, user: UserId) -> list[Key]:
        return user_keys(self._redis, tenant, user)


@final
class RedisPresenceStore:
    """Who is there: by the leases of his routes, and what his devices have said of themselves."""

    def __init__(self, redis: RedisClient) -> None:
        self._redis = redis

    async def set_away(self, device: DeviceKey, epoch: int, *, is_away: bool) -> bool:
        keys = user_keys(self._redis, device.tenant, device.user)
        with translate_redis_errors():
            return bool(await self._redis.run(SET_AWAY, keys, device.device, epoch, int(is_away)))

    async def read(self, tenant: TenantId, users: Sequence[UserId]) -> Mapping[UserId, PresenceRecord]:
        async def look(user: UserId) -> list[bytes]:
            keys = user_keys(self._redis, tenant, user)
            return cast("list[bytes]", await self._redis.run(PRESENCE, keys))

        answers = await call_each(look, users)
        if answers.unknown and not answers.found:
            raise RegistryUnavailableError(answers.failure)
        return {user: presence_from_reply(*answer) for user, answer in answers.found.items()}


@final
class RedisDeliveryCheckpoints:
    def __init__(self, redis: RedisClient) -> None:
        self._redis = redis

    async def advance(self, chat: ChatKey, first: int, last: int) -> int:
        with translate_redis_errors():
            return cast(
                "int",
                await self._redis.run(ADVANCE_CHECKPOINT, [self._key(chat)], first, last, CHECKPOINT_TTL_S),
            )

    async def read(self, chats: Sequence[ChatKey]) -> LookupResult[ChatKey, int]:
        async def read(chat: ChatKey) -> bytes | None:
            return cast("bytes | None", await self._redis.read("GET", self._key(chat)))

        answers = await call_each(read, chats)
        found = {chat: int(mark) for chat, mark in answers.found.items() if mark is not None}
        return LookupResult(found, answers.unknown, answers.failure)

    def _key(self, chat: ChatKey) -> Key:
        return self._redis.keys.key(chat.tenant, validate_channel_part(chat.chat), "handled")


@final
class RedisBus:
    """Both ends of it."""

    def __init__(self, redis: RedisClient) -> None:
        self._redis = redis

    async def publish_to_gateway(self, gateway: GatewayId, payload: bytes) -> bool:
        with translate_redis_errors():
            return await self._redis.publish(self._gateway(gateway), payload) > 0

    async def has_subscriber(self, gateway: GatewayId) -> bool:
        """Whether somebody listens there, without a word to them."""
        with translate_redis_errors():
            return cast("int", await self._redis.run(SUBSCRIBER_COUNT, [self._gateway(gateway)])) > 0

    async def publish_to_chat(self, chat: ChatKey, payload: bytes) -> int:
        with translate_redis_errors():
            return await self._redis.publish(self._chat(chat), payload)

    async def publish_ephemeral(self, chat: ChatKey, payload: bytes) -> int:
        with translate_redis_errors():
            return await self._redis.publish(self._ephemeral(chat), payload)

    async def publish_presence(self, tenant: TenantId, user: UserId, payload: bytes) -> int:
        with translate_redis_errors():
            return await self._redis.publish(self._presence(tenant, user), payload)

    async def publish_broadcasts(self, tenant: TenantId, inbox: str, payload: bytes) -> int:
        with translate_redis_errors():
            return await self._redis.publish(self._broadcasts(tenant, inbox), payload)

    def subscribe_gateway(self, gateway: GatewayId, handler: BusHandler) -> ChannelSubscription:
        return self._redis.subscribe_soon(self._gateway(gateway), event_handler(handler))

    async def subscribe_chat(self, chat: ChatKey, handler: BusHandler) -> ChannelSubscription:
        with translate_redis_errors():
            return await self._redis.subscribe(self._chat(chat), event_handler(handler))

    def subscribe_ephemeral(self, chat: ChatKey, handler: BusHandler) -> ChannelSubscription:
        return self._redis.subscribe_soon(self._ephemeral(chat), event_handler(handler))

    def subscribe_presence(self, tenant: TenantId, user: UserId, handler: BusHandler) -> ChannelSubscription:
        return self._redis.subscribe_soon(self._presence(tenant, user), event_handler(handler))

    def subscribe_broadcasts(self, tenant: TenantId, inbox: str, handler: BusHandler) -> ChannelSubscription:
        return self._redis.subscribe_soon(self._broadcasts(tenant, inbox), event_handler(handler))

    def _gateway(self, gateway: GatewayId) -> Key:
        return self._redis.keys.key("_system", gateway, "push")

    def _chat(self, chat: ChatKey) -> Key:
        return self._redis.keys.key(chat.tenant, validate_channel_part(chat.chat), "push")

    def _ephemeral(self, chat: ChatKey) -> Key:
        return self._redis.keys.key(chat.tenant, validate_channel_part(chat.chat), "signs")

    def _presence(self, tenant: TenantId, user: UserId) -> Key:
        return self._redis.keys.key(tenant, validate_channel_part(user), "presence")

    def _broadcasts(self, tenant: TenantId, inbox: str) -> Key:
        return self._redis.keys.key(tenant, inbox, "broadcasts", "moved")


def user_keys(redis: RedisClient, tenant: TenantId, user: UserId) -> list[Key]:
    """His routes, and what is known of his presence: in one slot."""
    name = validate_channel_part(user)
    return [redis.keys.key(tenant, name, "routes"), redis.keys.key(tenant, name, "seen")]


def presence_from_reply(
    status: bytes, seen_ms: bytes | None = None, gone_ms: bytes | None = None
) -> PresenceRecord:
    seen = None if seen_ms is None else int(seen_ms)
    return PresenceRecord(
        Presence(PresenceStatus(status.decode()), seen), None if gone_ms is None else int(gone_ms)
    )


def routes_from_reply(found: list[bytes]) -> list[Route]:
    return [
        Route(DeviceId(device.decode()), GatewayId(gateway.decode()), int(epoch))
        for device, gateway, epoch in batched(found, 3)
    ]


def event_handler(handler: BusHandler) -> events.ChannelHandler:
    def sink(event: events.ChannelEvent) -> None:
        match event:
            case events.ChannelMessage(payload):
                handler(payload)
            case events.ChannelSubscribed(lost_since=since):
                handler(Subscribed(was_lost=since is not None))
            case events.ChannelLost(reason=reason):
                handler(SubscriptionLost(reason))

    return sink


async def call_each[K, V](call: Callable[[K], Awaitable[V]], keys: Sequence[K]) -> LookupResult[K, V]:
    """Ask for each key by itself: a shard that does not answer leaves its own keys unknown, and no others."""
    if len(keys) == 1:
        # A task costs more than the call, and most look-ups are of one key.
        try:
            return LookupResult({keys[0]: await call(keys[0])})
        except RedisError as error:
            return LookupResult({}, frozenset(keys), str(error))
    found: dict[K, V] = {}
    failed: dict[K, RedisError] = {}
    for some in batched(keys, MAX_PER_CALL):
        for key, outcome in zip(
            some, await asyncio.gather(*map(call, some), return_exceptions=True), strict=True
        ):
            if isinstance(outcome, RedisError):
                failed[key] = outcome
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                found[key] = outcome
    return LookupResult(found, frozenset(failed), next((str(error) for error in failed.values()), ""))


@contextmanager
def translate_redis_errors() -> Iterator[None]:
    try:
        yield
    except RedisError as error:
        raise RegistryUnavailableError(str(error)) from error


@lru_cache(maxsize=50_000)
def validate_channel_part(name: str) -> str:
    """Braces would move the key to another slot. Two names are never spelled alike."""
    return name if set("{}%").isdisjoint(name) else quote(name, safe="")
