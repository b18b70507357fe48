"""Presence in Redis."""

from collections.abc import Mapping, Sequence
from typing import cast, final

from tidings.connections.store import call_each, translate_redis_errors, user_keys
from tidings.ephemeral.model import Presence, PresenceRecord, PresenceStatus
from tidings.kernel.errors import UnavailableError
from tidings.kernel.ids import DeviceKey, TenantId, UserId
from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.command_router import Script

SET_AWAY = Script.load("tidings.ephemeral", "set_away.lua", keys=2)
PRESENCE = Script.load("tidings.ephemeral", "presence.lua", keys=2, is_read=True)


@final
class RedisPresenceStore:
    """A user is connected while the lease of a route is valid; their devices set an away flag."""

    def __init__(self, redis: RedisClient) -> None:
        self._redis = redis

    async def set_away(self, device: DeviceKey, epoch: int, *, is_away: bool) -> bool:
        keys = user_keys(self._redis, device.tenant, device.user)
        with translate_redis_errors():
            return bool(await self._redis.run(SET_AWAY, keys, device.device, epoch, int(is_away)))

    async def read(self, tenant: TenantId, users: Sequence[UserId]) -> Mapping[UserId, PresenceRecord]:
        async def read_one(user: UserId) -> list[bytes]:
            keys = user_keys(self._redis, tenant, user)
            return cast("list[bytes]", await self._redis.run(PRESENCE, keys))

        answers = await call_each(read_one, users)
        if answers.unknown and not answers.found:
            raise UnavailableError(f"Redis: {answers.failure}")
        return {user: presence_from_reply(*answer) for user, answer in answers.found.items()}


def presence_from_reply(
    status: bytes, seen_ms: bytes | None = None, disconnected_ms: bytes | None = None
) -> PresenceRecord:
    return PresenceRecord(
        Presence(PresenceStatus(status.decode()), None if seen_ms is None else int(seen_ms)),
        None if disconnected_ms is None else int(disconnected_ms),
    )
