"""The bus: Redis pub/sub."""

from typing import cast, final

from tidings.bus.ports import BusHandler, Subscribed, SubscriptionLost
from tidings.connections.model import GatewayId
from tidings.connections.store import quote_key_part
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.platform.redis import pubsub
from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.command_router import Script
from tidings.platform.redis.errors import translate_redis_errors
from tidings.platform.redis.keys import Key
from tidings.platform.redis.pubsub import ChannelSubscription

SUBSCRIBER_COUNT = Script.load("tidings.bus", "subscriber_count.lua", keys=1, is_read=True)


@final
class RedisBus:
    """Publisher and subscriber. Each `_…_channel` method is the only place that knows the name of its channel."""

    def __init__(self, redis: RedisClient) -> None:
        self._redis = redis

    async def publish_to_gateway(self, gateway: GatewayId, payload: bytes) -> bool:
        with translate_redis_errors():
            return await self._redis.publish(self._gateway_channel(gateway), payload) > 0

    async def has_subscriber(self, gateway: GatewayId) -> bool:
        """Report whether the gateway is subscribed, without publishing a message."""
        with translate_redis_errors():
            return cast("int", await self._redis.run(SUBSCRIBER_COUNT, [self._gateway_channel(gateway)])) > 0

    async def publish_to_chat(self, chat: ChatKey, payload: bytes) -> int:
        with translate_redis_errors():
            return await self._redis.publish(self._chat_channel(chat), payload)

    async def publish_ephemeral(self, chat: ChatKey, payload: bytes) -> int:
        with translate_redis_errors():
            return await self._redis.publish(self._ephemeral_channel(chat), payload)

    async def publish_presence(self, tenant: TenantId, user: UserId, payload: bytes) -> int:
        with translate_redis_errors():
            return await self._redis.publish(self._presence_channel(tenant, user), payload)

    async def publish_broadcasts(self, tenant: TenantId, inbox: str, payload: bytes) -> int:
        with translate_redis_errors():
            return await self._redis.publish(self._broadcasts_channel(tenant, inbox), payload)

    def subscribe_gateway(self, gateway: GatewayId, handler: BusHandler) -> ChannelSubscription:
        return self._redis.subscribe_soon(self._gateway_channel(gateway), _channel_handler(handler))

    async def subscribe_chat(self, chat: ChatKey, handler: BusHandler) -> ChannelSubscription:
        with translate_redis_errors():
            return await self._redis.subscribe(self._chat_channel(chat), _channel_handler(handler))

    def subscribe_ephemeral(self, chat: ChatKey, handler: BusHandler) -> ChannelSubscription:
        return self._redis.subscribe_soon(self._ephemeral_channel(chat), _channel_handler(handler))

    def subscribe_presence(self, tenant: TenantId, user: UserId, handler: BusHandler) -> ChannelSubscription:
        return self._redis.subscribe_soon(self._presence_channel(tenant, user), _channel_handler(handler))

    def subscribe_broadcasts(self, tenant: TenantId, inbox: str, handler: BusHandler) -> ChannelSubscription:
        return self._redis.subscribe_soon(self._broadcasts_channel(tenant, inbox), _channel_handler(handler))

    def _gateway_channel(self, gateway: GatewayId) -> Key:
        return self._redis.keys.key("_system", gateway, "push")

    def _chat_channel(self, chat: ChatKey) -> Key:
        return self._redis.keys.key(chat.tenant, quote_key_part(chat.chat), "push")

    def _ephemeral_channel(self, chat: ChatKey) -> Key:
        return self._redis.keys.key(chat.tenant, quote_key_part(chat.chat), "signs")

    def _presence_channel(self, tenant: TenantId, user: UserId) -> Key:
        return self._redis.keys.key(tenant, quote_key_part(user), "presence")

    def _broadcasts_channel(self, tenant: TenantId, inbox: str) -> Key:
        return self._redis.keys.key(tenant, inbox, "broadcasts", "moved")


def _channel_handler(handler: BusHandler) -> pubsub.ChannelHandler:
    def handle(event: pubsub.ChannelEvent) -> None:
        match event:
            case pubsub.ChannelMessage(payload):
                handler(payload)
            case pubsub.ChannelSubscribed(lost_since=since):
                handler(Subscribed(was_lost=since is not None))
            case pubsub.ChannelLost(reason=reason):
                handler(SubscriptionLost(reason))

    return handle
