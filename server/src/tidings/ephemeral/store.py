"""Presence in Redis."""

from collections.abc import Mapping, Sequence
from typing import cast, final

from tidings.connections.store import run_each, user_keys
from tidings.ephemeral.model import Presence, PresenceRecord, PresenceStatus
from tidings.kernel.errors import UnavailableError
from tidings.kernel.ids import DeviceKey, TenantId, UserId
from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.command_router import Script
from tidings.platform.redis.errors import translate_redis_errors

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
        keys = {user: user_keys(self._redis, tenant, user) for user in users}
        answers = await run_each(self._redis, PRESENCE, keys)
        if answers.unknown and not answers.found:
            raise UnavailableError(f"Redis: {answers.failure}")
        return {
            user: presence_from_reply(*cast("list[bytes]", reply)) for user, reply in answers.found.items()
        }


def presence_from_reply(
    status: bytes, seen_ms: bytes | None = None, disconnected_ms: bytes | None = None
) -> PresenceRecord:
    return PresenceRecord(
        Presence(PresenceStatus(status.decode()), None if seen_ms is None else int(seen_ms)),
        None if disconnected_ms is None else int(disconnected_ms),
    )
