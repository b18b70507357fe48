"""Joins what support looks up with the engines: messages by time, chats of a user, when a user was last connected."""

from dataclasses import dataclass

from tidings.chats.store import DynamoChatStore
from tidings.chats.store.shelf import DynamoChatReader
from tidings.kernel.clock import Clock
from tidings.kernel.ids import TenantId, UserId
from tidings.messages.store import DynamoLogReader
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.redis.client import RedisClient
from tidings.routing.model import RegistryUnavailableError
from tidings.routing.store import RedisPresenceStore
from tidings.run.options import redis_options
from tidings.run.settings import Settings
from tidings.signs.model import Presence
from tidings.whereabouts.around import MessageFinder, UserChatFinder


@dataclass(frozen=True, slots=True)
class SupportLookup:
    around: MessageFinder
    chats: UserChatFinder
    settings: Settings

    async def presence(self, tenant: TenantId, user: UserId) -> Presence | None:
        """Ask Redis; None if none is set, or if it does not answer."""
        if self.settings.redis.url is None:
            return None
        redis = await RedisClient.connect(redis_options(self.settings), wait=False)
        try:
            found = await RedisPresenceStore(redis).read(tenant, [user])
        except RegistryUnavailableError:
            return None
        finally:
            await redis.close()
        return found[user].presence


def build_support_lookup(settings: Settings, client: DynamoClient, clock: Clock) -> SupportLookup:
    reader, rows = DynamoLogReader(client), DynamoChatStore(client, clock)
    chats = UserChatFinder(DynamoChatReader(client, rows), rows, reader)
    return SupportLookup(MessageFinder(reader), chats, settings)
