"""Joins what support looks up with the engines: messages by time, chats of a user, when a user was last connected."""

from dataclasses import dataclass

from tidings.chats.store import DynamoRows
from tidings.chats.store.shelf import DynamoShelf
from tidings.kernel.clock import Clock
from tidings.kernel.ids import TenantId, UserId
from tidings.messages.store import DynamoReader
from tidings.platform.dynamo.client import Client
from tidings.platform.redis.client import Redis
from tidings.routing.model import RoutesAwayError
from tidings.routing.store import RedisPresence
from tidings.run.options import redis_options
from tidings.run.settings import Settings
from tidings.signs.model import Presence
from tidings.whereabouts.around import Around, ChatsOfUser


@dataclass(frozen=True, slots=True)
class Lookup:
    around: Around
    chats: ChatsOfUser
    settings: Settings

    async def presence(self, tenant: TenantId, user: UserId) -> Presence | None:
        """Ask Redis; None if none is set, or if it does not answer."""
        if self.settings.redis.url is None:
            return None
        redis = await Redis.connect(redis_options(self.settings), wait=False)
        try:
            found = await RedisPresence(redis).of(tenant, [user])
        except RoutesAwayError:
            return None
        finally:
            await redis.close()
        return found[user].presence


def lookup_of(settings: Settings, client: Client, clock: Clock) -> Lookup:
    reader, rows = DynamoReader(client), DynamoRows(client, clock)
    chats = ChatsOfUser(DynamoShelf(client, rows), rows, reader)
    return Lookup(Around(reader), chats, settings)
