"""Delivery checkpoints in Redis."""

from collections.abc import Sequence
from typing import cast, final

from tidings.connections.model import LookupResult
from tidings.connections.store import call_each, quote_key_part
from tidings.kernel.ids import ChatKey
from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.command_router import Script
from tidings.platform.redis.errors import translate_redis_errors
from tidings.platform.redis.keys import Key

ADVANCE_CHECKPOINT = Script.load("tidings.delivery.store", "checkpoint.lua", keys=1)


CHECKPOINT_TTL_S = 3 * 86_400
"""Longer than the change stream retains the entries that the relay compares with a checkpoint."""


@final
class RedisDeliveryCheckpoints:
    def __init__(self, redis: RedisClient, name: str = "handled") -> None:
        """`name` distinguishes the checkpoints of different consumers of the log."""
        self._redis = redis
        self._name = name

    async def advance(self, chat: ChatKey, first: int, last: int) -> int:
        # Race: the previous worker of a partition is still running while this one has taken over. The Lua script
        # compares and sets atomically and never moves a checkpoint back, so both may advance it.
        with translate_redis_errors():
            return cast(
                "int",
                await self._redis.run(ADVANCE_CHECKPOINT, [self._key(chat)], first, last, CHECKPOINT_TTL_S),
            )

    async def read(self, chats: Sequence[ChatKey]) -> LookupResult[ChatKey, int]:
        async def read(chat: ChatKey) -> bytes | None:
            return cast("bytes | None", await self._redis.read("GET", self._key(chat)))

        answers = await call_each(read, chats)
        found = {chat: int(value) for chat, value in answers.found.items() if value is not None}
        return LookupResult(found, answers.unknown, answers.failure)

    def _key(self, chat: ChatKey) -> Key:
        return self._redis.keys.key(chat.tenant, quote_key_part(chat.chat), self._name)
