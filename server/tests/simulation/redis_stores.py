"""Delivery checkpoints and presence on the simulated Redis, as the ports of delivery and ephemeral events have them."""

from collections.abc import Mapping, Sequence

from simulation.redis import SimRedis

from tidings.connections.model import LookupResult
from tidings.ephemeral.model import UNKNOWN, Presence, PresenceRecord, PresenceStatus
from tidings.kernel.errors import UnavailableError
from tidings.kernel.ids import ChatKey, DeviceKey, TenantId, UserId


class SimCheckpoints:
    def __init__(self, connection: SimRedis) -> None:
        self._connection = connection

    async def advance(self, chat: ChatKey, first: int, last: int) -> int:
        redis = self._connection._redis
        return await self._connection._ask("mark", lambda: redis.mark(chat, first, last))

    async def read(self, chats: Sequence[ChatKey]) -> LookupResult[ChatKey, int]:
        marks = self._connection._redis.marks
        return await self._connection._answers(
            "marks", chats, lambda some: {chat: marks[chat] for chat in some if chat in marks}
        )


class SimPresenceStore:
    """Presence derived from the leases of a user's routes. `away` is not simulated."""

    def __init__(self, connection: SimRedis) -> None:
        self._connection = connection

    async def set_away(self, device: DeviceKey, epoch: int, *, is_away: bool) -> bool:
        del device, epoch, is_away
        return False

    async def read(self, tenant: TenantId, users: Sequence[UserId]) -> Mapping[UserId, PresenceRecord]:
        answers = await self._connection.look_up(tenant, users)
        if answers.unknown and len(answers.unknown) == len(users):
            raise UnavailableError(answers.failure)
        asked = [user for user in users if user not in answers.unknown]
        return {
            user: PresenceRecord(Presence(PresenceStatus.ONLINE) if user in answers.found else UNKNOWN)
            for user in asked
        }
