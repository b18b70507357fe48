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
from tidings.platform.redis.client import Redis
from tidings.platform.redis.errors import RedisError
from tidings.platform.redis.keys import Key
from tidings.platform.redis.script import Script
from tidings.platform.redis.subscription import Subscription
from tidings.routing.model import Answers, GatewayId, Registered, Route
from tidings.routing.ports import Hear, Held, Lost, Renewed, RoutesAwayError, Standing
from tidings.signs.model import Found, Presence, Status

_PACKAGE = "tidings.routing"
REGISTER = Script.load(_PACKAGE, "register.lua", keys=2)
RENEW = Script.load(_PACKAGE, "renew.lua", keys=2)
REMOVE = Script.load(_PACKAGE, "remove.lua", keys=2)
SET_AWAY = Script.load(_PACKAGE, "set_away.lua", keys=2)
PRESENCE = Script.load(_PACKAGE, "presence.lua", keys=2, is_read=True)
LOOK_UP = Script.load(_PACKAGE, "look_up.lua", keys=1, is_read=True)
MARK = Script.load(_PACKAGE, "mark.lua", keys=1)
LISTENERS = Script.load(_PACKAGE, "listeners.lua", keys=1, is_read=True)

AT_ONCE = 500
"""Calls that leave together: more would only wait in each other's way."""
MARK_KEPT_S = 3 * 86_400
"""Longer than the stream keeps what a mark is held against."""
SEEN_KEPT_MS = 30 * 86_400_000
"""How long it is known when somebody was last there."""
_GONE, _ELSEWHERE = 1, 2


@final
class RedisRoutes:
    def __init__(self, redis: Redis, *, lease_s: float) -> None:
        self._redis = redis
        self._lease_ms = round(lease_s * 1000)

    async def register(self, device: DeviceKey, gateway: GatewayId) -> Registered:
        epoch, *before = await self._register(device, gateway, 0)
        if not before:
            return Registered(int(epoch), None)
        return Registered(int(epoch), Route(device.device, GatewayId(before[0].decode()), int(before[1])))

    async def register_again(self, device: DeviceKey, gateway: GatewayId, had: int) -> Registered | None:
        epoch, *_ = await self._register(device, gateway, had)
        return Registered(int(epoch), None) if int(epoch) else None

    async def _register(self, device: DeviceKey, gateway: GatewayId, had: int) -> list[bytes]:
        keys = self._keys(device.tenant, device.user)
        given = (device.device, gateway, self._lease_ms, had, SEEN_KEPT_MS)
        with _away():
            reply = await self._redis.run(REGISTER, keys, *given)
        return cast("list[bytes]", reply)

    async def renew(self, gateway: GatewayId, held: Sequence[Held]) -> Renewed:
        """One call for each user, however many devices he has here."""
        users: dict[tuple[TenantId, UserId], list[Held]] = {}
        for each in held:
            users.setdefault(each.device[:2], []).append(each)

        async def renew(user: tuple[TenantId, UserId]) -> list[int]:
            pairs = [part for each in users[user] for part in (each.device.device, each.epoch)]
            given = (gateway, self._lease_ms, SEEN_KEPT_MS, *pairs)
            reply = await self._redis.run(RENEW, self._keys(*user), *given)
            return cast("list[int]", reply)

        answers = await _each(renew, list(users))
        told = [
            (each.device, a)
            for user, many in answers.found.items()
            for each, a in zip(users[user], many, strict=True)
        ]
        return Renewed(
            [d for d, a in told if a == _GONE],
            [d for d, a in told if a == _ELSEWHERE],
            [each.device for user in answers.unknown for each in users[user]],
        )

    async def remove(self, device: DeviceKey, gateway: GatewayId, epoch: int) -> bool:
        with _away():
            keys = self._keys(device.tenant, device.user)
            return bool(await self._redis.run(REMOVE, keys, device.device, gateway, epoch, SEEN_KEPT_MS))

    async def of(self, tenant: TenantId, users: Sequence[UserId]) -> Answers[UserId, Sequence[Route]]:
        async def look_up(user: UserId) -> list[bytes]:
            return cast("list[bytes]", await self._redis.run(LOOK_UP, self._keys(tenant, user)[:1]))

        answers = await _each(look_up, users)
        found = {user: _routes(some) for user, some in answers.found.items() if some}
        return Answers(found, answers.unknown, answers.why)

    def _keys(self, tenant: TenantId, user: UserId) -> list[Key]:
        return _of_user(self._redis, tenant, user)


@final
class RedisPresence:
    """Who is there: by the leases of his routes, and what his devices have said of themselves."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def set_away(self, device: DeviceKey, epoch: int, *, is_away: bool) -> bool:
        keys = _of_user(self._redis, device.tenant, device.user)
        with _away():
            return bool(await self._redis.run(SET_AWAY, keys, device.device, epoch, int(is_away)))

    async def of(self, tenant: TenantId, users: Sequence[UserId]) -> Mapping[UserId, Found]:
        async def look(user: UserId) -> list[bytes]:
            keys = _of_user(self._redis, tenant, user)
            return cast("list[bytes]", await self._redis.run(PRESENCE, keys))

        answers = await _each(look, users)
        if answers.unknown and not answers.found:
            raise RoutesAwayError(answers.why)
        return {user: _found(*answer) for user, answer in answers.found.items()}


@final
class RedisMarks:
    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def mark(self, chat: ChatKey, first: int, last: int) -> int:
        with _away():
            return cast("int", await self._redis.run(MARK, [self._key(chat)], first, last, MARK_KEPT_S))

    async def of(self, chats: Sequence[ChatKey]) -> Answers[ChatKey, int]:
        async def read(chat: ChatKey) -> bytes | None:
            return cast("bytes | None", await self._redis.read("GET", self._key(chat)))

        answers = await _each(read, chats)
        found = {chat: int(mark) for chat, mark in answers.found.items() if mark is not None}
        return Answers(found, answers.unknown, answers.why)

    def _key(self, chat: ChatKey) -> Key:
        return self._redis.keys.key(chat.tenant, _plain(chat.chat), "handled")


@final
class RedisLine:
    """Both ends of it."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def to_gateway(self, gateway: GatewayId, payload: bytes) -> bool:
        with _away():
            return await self._redis.publish(self._gateway(gateway), payload) > 0

    async def is_heard(self, gateway: GatewayId) -> bool:
        """Whether somebody listens there, without a word to them."""
        with _away():
            return cast("int", await self._redis.run(LISTENERS, [self._gateway(gateway)])) > 0

    async def to_chat(self, chat: ChatKey, payload: bytes) -> int:
        with _away():
            return await self._redis.publish(self._chat(chat), payload)

    async def to_signs(self, chat: ChatKey, payload: bytes) -> int:
        with _away():
            return await self._redis.publish(self._signs(chat), payload)

    async def to_presence(self, tenant: TenantId, user: UserId, payload: bytes) -> int:
        with _away():
            return await self._redis.publish(self._presence(tenant, user), payload)

    async def to_broadcasts(self, tenant: TenantId, inbox: str, payload: bytes) -> int:
        with _away():
            return await self._redis.publish(self._broadcasts(tenant, inbox), payload)

    def at_gateway(self, gateway: GatewayId, hear: Hear) -> Subscription:
        return self._redis.subscribe_soon(self._gateway(gateway), _told(hear))

    async def at_chat(self, chat: ChatKey, hear: Hear) -> Subscription:
        with _away():
            return await self._redis.subscribe(self._chat(chat), _told(hear))

    def at_signs(self, chat: ChatKey, hear: Hear) -> Subscription:
        return self._redis.subscribe_soon(self._signs(chat), _told(hear))

    def at_presence(self, tenant: TenantId, user: UserId, hear: Hear) -> Subscription:
        return self._redis.subscribe_soon(self._presence(tenant, user), _told(hear))

    def at_broadcasts(self, tenant: TenantId, inbox: str, hear: Hear) -> Subscription:
        return self._redis.subscribe_soon(self._broadcasts(tenant, inbox), _told(hear))

    def _gateway(self, gateway: GatewayId) -> Key:
        return self._redis.keys.key("_system", gateway, "push")

    def _chat(self, chat: ChatKey) -> Key:
        return self._redis.keys.key(chat.tenant, _plain(chat.chat), "push")

    def _signs(self, chat: ChatKey) -> Key:
        return self._redis.keys.key(chat.tenant, _plain(chat.chat), "signs")

    def _presence(self, tenant: TenantId, user: UserId) -> Key:
        return self._redis.keys.key(tenant, _plain(user), "presence")

    def _broadcasts(self, tenant: TenantId, inbox: str) -> Key:
        return self._redis.keys.key(tenant, inbox, "broadcasts", "moved")


def _of_user(redis: Redis, tenant: TenantId, user: UserId) -> list[Key]:
    """His routes, and what is known of his presence: in one slot."""
    name = _plain(user)
    return [redis.keys.key(tenant, name, "routes"), redis.keys.key(tenant, name, "seen")]


def _found(status: bytes, seen_ms: bytes | None = None, gone_ms: bytes | None = None) -> Found:
    seen = None if seen_ms is None else int(seen_ms)
    return Found(Presence(Status(status.decode()), seen), None if gone_ms is None else int(gone_ms))


def _routes(found: list[bytes]) -> list[Route]:
    return [
        Route(DeviceId(device.decode()), GatewayId(gateway.decode()), int(epoch))
        for device, gateway, epoch in batched(found, 3)
    ]


def _told(hear: Hear) -> events.Sink:
    def sink(event: events.Event) -> None:
        match event:
            case events.Message(payload):
                hear(payload)
            case events.Standing(lost_since=since):
                hear(Standing(was_lost=since is not None))
            case events.Lost(reason=reason):
                hear(Lost(reason))

    return sink


async def _each[K, V](call: Callable[[K], Awaitable[V]], keys: Sequence[K]) -> Answers[K, V]:
    """Ask for each key by itself: a shard that does not answer leaves its own keys unknown, and no others."""
    if len(keys) == 1:
        # A task costs more than the call, and most look-ups are of one key.
        try:
            return Answers({keys[0]: await call(keys[0])})
        except RedisError as error:
            return Answers({}, frozenset(keys), str(error))
    found: dict[K, V] = {}
    failed: dict[K, RedisError] = {}
    for some in batched(keys, AT_ONCE):
        for key, outcome in zip(
            some, await asyncio.gather(*map(call, some), return_exceptions=True), strict=True
        ):
            if isinstance(outcome, RedisError):
                failed[key] = outcome
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                found[key] = outcome
    return Answers(found, frozenset(failed), next((str(error) for error in failed.values()), ""))


@contextmanager
def _away() -> Iterator[None]:
    try:
        yield
    except RedisError as error:
        raise RoutesAwayError(str(error)) from error


@lru_cache(maxsize=50_000)
def _plain(name: str) -> str:
    """Braces would move the key to another slot. Two names are never spelled alike."""
    return name if set("{}%").isdisjoint(name) else quote(name, safe="")
