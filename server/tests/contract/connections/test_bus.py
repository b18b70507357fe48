"""The bus: subscribers receive messages in order, missing subscribers are known, and losses are reported."""

from collections.abc import Sequence

from fixtures.loops import until
from fixtures.redis_cluster import Connect, Servers

from tidings.bus.ports import BusEvent, Subscribed, SubscriptionLost
from tidings.bus.store import RedisBus
from tidings.connections.model import GatewayId
from tidings.kernel.ids import ChatId, ChatKey, TenantId

SUBSCRIBED_GATEWAY, OTHER_GATEWAY = GatewayId("gateway-1"), GatewayId("gateway-2")
CHAT = ChatKey(TenantId("acme"), ChatId("g-{1}"))


def payloads(events: Sequence[BusEvent]) -> list[bytes]:
    return [each for each in events if isinstance(each, bytes)]


async def test_a_gateway_receives_messages_in_order(servers: Servers, connect: Connect) -> None:
    events: list[BusEvent] = []
    async with connect(servers) as redis, connect(servers) as worker:
        subscription = RedisBus(redis).subscribe_gateway(SUBSCRIBED_GATEWAY, events.append)
        await until(lambda: Subscribed(was_lost=False) in events, 30)
        for number in range(50):
            assert await RedisBus(worker).publish_to_gateway(SUBSCRIBED_GATEWAY, b"%d" % number)
        await until(lambda: len(payloads(events)) == 50, 30)
        subscription.close()
    assert payloads(events) == [b"%d" % number for number in range(50)]


async def test_publishing_reports_that_there_is_no_subscriber(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        assert not await RedisBus(redis).publish_to_gateway(OTHER_GATEWAY, b"hello")
        assert await RedisBus(redis).publish_to_chat(CHAT, b"hello") == 0


async def test_a_subscriber_is_detected_without_publishing(servers: Servers, connect: Connect) -> None:
    events: list[BusEvent] = []
    async with connect(servers) as redis, connect(servers) as observer:
        subscription = RedisBus(redis).subscribe_gateway(SUBSCRIBED_GATEWAY, events.append)
        await until(lambda: Subscribed(was_lost=False) in events, 30)
        assert await RedisBus(observer).has_subscriber(SUBSCRIBED_GATEWAY)
        assert not await RedisBus(observer).has_subscriber(OTHER_GATEWAY)
        assert payloads(events) == []
        subscription.close()


async def test_a_large_chat_is_received_from_the_confirmed_subscription_on(
    servers: Servers, connect: Connect
) -> None:
    one: list[BusEvent] = []
    two: list[BusEvent] = []
    async with connect(servers) as first, connect(servers) as second, connect(servers) as worker:
        await RedisBus(first).subscribe_chat(CHAT, one.append)
        await RedisBus(second).subscribe_chat(CHAT, two.append)
        assert await RedisBus(worker).publish_to_chat(CHAT, b"hello") == 2
        await until(lambda: payloads(one) == payloads(two) == [b"hello"], 30)


async def test_a_gateway_is_notified_of_a_lost_subscription(own_servers: Servers, connect: Connect) -> None:
    events: list[BusEvent] = []
    async with connect(own_servers) as redis:
        RedisBus(redis).subscribe_gateway(SUBSCRIBED_GATEWAY, events.append)
        await until(lambda: Subscribed(was_lost=False) in events, 30)
        own_servers.owner(redis.keys.key("_system", SUBSCRIBED_GATEWAY, "push")).kill()
        await until(lambda: any(isinstance(each, SubscriptionLost) for each in events), 30)
        own_servers.mend()
        await until(lambda: events[-1] == Subscribed(was_lost=True), 60)
