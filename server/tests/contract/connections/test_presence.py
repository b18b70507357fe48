"""Presence on real servers, single and clustered: by leases and away flags of routes."""

from fixtures.loops import until
from fixtures.redis_cluster import Connect, Servers

from tidings.bus.ports import BusEvent, Subscribed
from tidings.bus.store import RedisBus
from tidings.connections.model import GatewayId, HeldRoute
from tidings.connections.store import RedisConnectionRegistry
from tidings.ephemeral.model import Presence, PresenceRecord, PresenceStatus
from tidings.ephemeral.store import RedisPresenceStore
from tidings.kernel.ids import ChatId, ChatKey, DeviceId, DeviceKey, TenantId, UserId
from tidings.platform.redis.client import RedisClient

ACME = TenantId("acme")
ANNA, BEN = UserId("a{nn}a%"), UserId("ben")
PHONE = DeviceKey(ACME, ANNA, DeviceId("phone"))
LAPTOP = DeviceKey(ACME, ANNA, DeviceId("laptop"))
HERE = GatewayId("gateway-1")
CHAT = ChatKey(ACME, ChatId("g-{1}"))
ONLINE, AWAY = PresenceRecord(Presence(PresenceStatus.ONLINE)), PresenceRecord(Presence(PresenceStatus.AWAY))
UNKNOWN = PresenceRecord(Presence(PresenceStatus.OFFLINE))


async def found(redis: RedisClient, user: UserId = ANNA) -> PresenceRecord:
    return (await RedisPresenceStore(redis).read(ACME, [user]))[user]


async def test_a_user_is_online_while_one_device_is_and_away_while_all_are(
    servers: Servers, connect: Connect
) -> None:
    async with connect(servers) as redis:
        routes, presence = RedisConnectionRegistry(redis, lease_s=60), RedisPresenceStore(redis)
        assert await presence.read(ACME, [ANNA, BEN]) == {ANNA: UNKNOWN, BEN: UNKNOWN}
        phone = (await routes.register(PHONE, HERE)).epoch
        laptop = (await routes.register(LAPTOP, HERE)).epoch
        assert await presence.set_away(PHONE, phone, is_away=True)
        assert await found(redis) == ONLINE
        assert await presence.set_away(LAPTOP, laptop, is_away=True)
        assert await found(redis) == AWAY
        assert not await presence.set_away(LAPTOP, laptop, is_away=True), "it said so before"
        assert await presence.set_away(PHONE, phone, is_away=False)
        assert await found(redis) == ONLINE


async def test_the_away_flag_of_an_earlier_route_is_ignored(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        routes, presence = RedisConnectionRegistry(redis, lease_s=60), RedisPresenceStore(redis)
        old = (await routes.register(PHONE, HERE)).epoch
        await presence.set_away(PHONE, old, is_away=True)
        new = (await routes.register(PHONE, HERE)).epoch
        assert await found(redis) == ONLINE
        assert not await presence.set_away(PHONE, old, is_away=True), "a late word of the old socket"
        assert await found(redis) == ONLINE
        assert await presence.set_away(PHONE, new, is_away=True)
        assert await found(redis) == AWAY


async def test_a_removed_route_sets_last_seen(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        routes = RedisConnectionRegistry(redis, lease_s=60)
        epoch = (await routes.register(PHONE, HERE)).epoch
        assert await routes.remove(PHONE, HERE, epoch)
        gone = await found(redis)
        assert gone.presence.status is PresenceStatus.OFFLINE
        assert gone.presence.seen_ms is not None
        assert 0 <= gone.presence.seen_ms - epoch // 1000 < 60_000
        assert gone.disconnected_ms is not None
        assert gone.disconnected_ms < 60_000


async def test_an_expired_route_was_last_seen_at_the_last_heartbeat(
    servers: Servers, connect: Connect
) -> None:
    async with connect(servers) as redis:
        routes = RedisConnectionRegistry(redis, lease_s=0.3)
        epoch = (await routes.register(PHONE, HERE)).epoch
        renewed = await routes.renew(HERE, [HeldRoute(PHONE, epoch)])
        last: list[PresenceRecord] = []

        async def looked() -> bool:
            last.append(await found(redis))
            return last[-1].presence.status is PresenceStatus.OFFLINE

        while not await looked():
            assert last[-1] == ONLINE
        assert last[-1].disconnected_ms is not None
        # On a slow machine a heartbeat may be too late: then the route had expired before it.
        assert last[-1].disconnected_ms >= 300 or renewed.lost


async def test_last_seen_is_stored_for_a_month(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        routes = RedisConnectionRegistry(redis, lease_s=60)
        await routes.register(PHONE, HERE)
        left_s = await redis.read("TTL", routes._keys(ACME, ANNA)[1])
    assert isinstance(left_s, int)
    assert 29 * 86_400 < left_s <= 30 * 86_400


async def test_ephemeral_events_and_hints_reach_only_their_subscribers(
    servers: Servers, connect: Connect
) -> None:
    signs: list[BusEvent] = []
    hints: list[BusEvent] = []
    async with connect(servers) as redis, connect(servers) as other:
        line = RedisBus(other)
        assert await line.publish_ephemeral(CHAT, b"nobody") == 0
        assert await line.publish_presence(ACME, ANNA, b"nobody") == 0
        RedisBus(redis).subscribe_ephemeral(CHAT, signs.append)
        listening = RedisBus(redis).subscribe_presence(ACME, ANNA, hints.append)
        await until(lambda: signs == hints == [Subscribed(was_lost=False)], 30)
        assert await line.publish_ephemeral(CHAT, b"a sign") == 1
        assert await line.publish_presence(ACME, ANNA, b"a hint") == 1
        await until(lambda: (signs[1:], hints[1:]) == ([b"a sign"], [b"a hint"]), 30)
        listening.close()
        await until_unsubscribed(line)


async def until_unsubscribed(line: RedisBus) -> None:
    while await line.publish_presence(ACME, ANNA, b"anybody?"):
        pass
