"""The line to the gateways: who listens hears, who does not is known not to, and a loss is told."""

from collections.abc import Sequence

from fixtures.loops import until
from fixtures.redis_cluster import Connect, Servers

from tidings.bus.ports import BusEvent, Subscribed, SubscriptionLost
from tidings.bus.store import RedisBus
from tidings.connections.model import GatewayId
from tidings.kernel.ids import ChatId, ChatKey, TenantId

HERE, NOWHERE = GatewayId("gateway-1"), GatewayId("gateway-2")
CHAT = ChatKey(TenantId("acme"), ChatId("g-{1}"))


def payloads(heard: Sequence[BusEvent]) -> list[bytes]:
    return [each for each in heard if isinstance(each, bytes)]


async def test_a_gateway_hears_what_is_said_to_it_in_order(servers: Servers, connect: Connect) -> None:
    heard: list[BusEvent] = []
    async with connect(servers) as redis, connect(servers) as worker:
        listening = RedisBus(redis).subscribe_gateway(HERE, heard.append)
        await until(lambda: Subscribed(was_lost=False) in heard, 30)
        for number in range(50):
            assert await RedisBus(worker).publish_to_gateway(HERE, b"%d" % number)
        await until(lambda: len(payloads(heard)) == 50, 30)
        listening.close()
    assert payloads(heard) == [b"%d" % number for number in range(50)]


async def test_that_nobody_listens_is_known(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        assert not await RedisBus(redis).publish_to_gateway(NOWHERE, b"anybody?")
        assert await RedisBus(redis).publish_to_chat(CHAT, b"anybody?") == 0


async def test_whether_somebody_listens_is_known_without_a_word_to_them(
    servers: Servers, connect: Connect
) -> None:
    heard: list[BusEvent] = []
    async with connect(servers) as redis, connect(servers) as asker:
        listening = RedisBus(redis).subscribe_gateway(HERE, heard.append)
        await until(lambda: Subscribed(was_lost=False) in heard, 30)
        assert await RedisBus(asker).has_subscriber(HERE)
        assert not await RedisBus(asker).has_subscriber(NOWHERE)
        assert payloads(heard) == []
        listening.close()


async def test_a_large_chat_is_heard_from_the_moment_in_which_listening_began(
    servers: Servers, connect: Connect
) -> None:
    one: list[BusEvent] = []
    two: list[BusEvent] = []
    async with connect(servers) as first, connect(servers) as second, connect(servers) as worker:
        await RedisBus(first).subscribe_chat(CHAT, one.append)
        await RedisBus(second).subscribe_chat(CHAT, two.append)
        assert await RedisBus(worker).publish_to_chat(CHAT, b"hello") == 2
        await until(lambda: payloads(one) == payloads(two) == [b"hello"], 30)


async def test_a_gateway_is_told_when_it_was_deaf(own_servers: Servers, connect: Connect) -> None:
    heard: list[BusEvent] = []
    async with connect(own_servers) as redis:
        RedisBus(redis).subscribe_gateway(HERE, heard.append)
        await until(lambda: Subscribed(was_lost=False) in heard, 30)
        own_servers.owner(redis.keys.key("_system", HERE, "push")).kill()
        await until(lambda: any(isinstance(each, SubscriptionLost) for each in heard), 30)
        own_servers.mend()
        await until(lambda: heard[-1] == Subscribed(was_lost=True), 60)
