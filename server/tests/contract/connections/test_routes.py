"""Routes on real servers, single and clustered: the newest counts, and only its gateway removes it."""

import asyncio

import pytest
from fixtures.loops import eventually
from fixtures.redis_cluster import Connect, Servers

from tidings.connections import store
from tidings.connections.model import GatewayId, HeldRoute, LookupResult, Route
from tidings.connections.store import RECONNECT_MS, RedisConnectionRegistry
from tidings.delivery.store.checkpoints import RedisDeliveryCheckpoints
from tidings.kernel.errors import UnavailableError
from tidings.kernel.ids import ChatId, ChatKey, DeviceId, DeviceKey, TenantId, UserId
from tidings.platform.redis.client import RedisClient

ACME = TenantId("acme")
ANNA, BEN, ODD = UserId("anna"), UserId("ben"), UserId("a{b}%")
PHONE = DeviceKey(ACME, ANNA, DeviceId("phone"))
LAPTOP = DeviceKey(ACME, ANNA, DeviceId("laptop"))
ONE, TWO = GatewayId("gateway-1"), GatewayId("gateway-2")


def routes(redis: RedisClient, lease_s: float = 60) -> RedisConnectionRegistry:
    return RedisConnectionRegistry(redis, lease_s=lease_s)


async def test_a_device_is_found_at_its_gateway(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        registry = routes(redis)
        phone = await registry.register(PHONE, ONE)
        laptop = await registry.register(LAPTOP, TWO)
        odd = await registry.register(DeviceKey(ACME, ODD, DeviceId("{}")), ONE)
        found = (await registry.look_up(ACME, [ANNA, BEN, ODD])).found
    assert set(found) == {ANNA, ODD}
    assert set(found[ANNA]) == {
        Route(PHONE.device, ONE, phone.epoch),
        Route(LAPTOP.device, TWO, laptop.epoch),
    }
    assert found[ODD] == [Route(DeviceId("{}"), ONE, odd.epoch)]


async def test_tenants_are_isolated(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        await routes(redis).register(PHONE, ONE)
        assert await routes(redis).look_up(TenantId("other"), [ANNA]) == LookupResult({})


async def test_a_new_registration_returns_the_replaced_route(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        registry = routes(redis)
        first = await registry.register(PHONE, ONE)
        second = await registry.register(PHONE, TWO)
        assert first.replaced_route is None
        assert second.replaced_route == Route(PHONE.device, ONE, first.epoch)
        assert second.epoch > first.epoch
        assert await registry.look_up(ACME, [ANNA]) == LookupResult(
            {ANNA: [Route(PHONE.device, TWO, second.epoch)]}
        )


async def test_an_old_socket_cannot_remove_the_newer_route(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        registry = routes(redis)
        old = await registry.register(PHONE, ONE)
        new = await registry.register(PHONE, ONE)
        assert not await registry.remove(PHONE, ONE, old.epoch)
        assert not await registry.remove(PHONE, TWO, new.epoch)
        assert (await registry.look_up(ACME, [ANNA])).found
        assert await registry.remove(PHONE, ONE, new.epoch)
        assert not await registry.remove(PHONE, ONE, new.epoch)
        assert await registry.look_up(ACME, [ANNA]) == LookupResult({})


async def test_a_user_is_offline_at_once_after_a_close_and_later_if_the_gateway_vanished(
    servers: Servers, connect: Connect
) -> None:
    async with connect(servers) as redis:
        registry = routes(redis)
        assert await registry.offline_after_ms(ACME, ANNA) == 0, "never connected"
        phone = await registry.register(PHONE, ONE)
        assert await registry.offline_after_ms(ACME, ANNA) is None
        assert await registry.remove(PHONE, ONE, phone.epoch, is_closed=True)
        assert await registry.offline_after_ms(ACME, ANNA) == 0
        phone = await registry.register(PHONE, ONE)
        assert await registry.remove(PHONE, ONE, phone.epoch)
        wait_ms = await registry.offline_after_ms(ACME, ANNA)
        assert wait_ms is not None
        assert RECONNECT_MS - 20_000 < wait_ms <= RECONNECT_MS


async def test_a_vanished_gateway_is_claimed_once_with_the_users_that_it_held(
    servers: Servers, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "RECONNECT_MS", 0)
    async with connect(servers) as redis:
        registry = routes(redis)
        alive = RedisConnectionRegistry(redis, lease_s=60, renew_every_s=60)
        odd = DeviceKey(ACME, ODD, DeviceId("{}"))
        for device in (PHONE, LAPTOP, odd):
            await registry.register(device, ONE)
        left = await registry.register(DeviceKey(ACME, BEN, DeviceId("phone")), ONE)
        await registry.remove(DeviceKey(ACME, BEN, DeviceId("phone")), ONE, left.epoch, is_closed=True)
        old = await registry.register(LAPTOP, ONE)
        await registry.register(LAPTOP, ONE)
        assert not await registry.remove(LAPTOP, ONE, old.epoch, is_closed=True)
        await registry.keep_alive(ONE)
        await alive.keep_alive(TWO)
        await asyncio.sleep(0.01)
        assert await registry.claim() == [ONE]
        assert await registry.claim() == []
        assert set(await registry.users(ONE)) == {(ACME, ANNA), (ACME, ODD)}
        await registry.sign_off(ONE)
        assert await registry.users(ONE) == []


async def test_a_heartbeat_distinguishes_lost_and_replaced_routes(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        registry = routes(redis)
        phone, laptop = await registry.register(PHONE, ONE), await registry.register(LAPTOP, ONE)
        tablet = DeviceKey(ACME, BEN, DeviceId("tablet"))
        await registry.register(PHONE, TWO)
        held = [HeldRoute(PHONE, phone.epoch), HeldRoute(LAPTOP, laptop.epoch), HeldRoute(tablet, 7)]
        renewed = await registry.renew(ONE, held)
        assert renewed.elsewhere == [PHONE]
        assert renewed.lost == [tablet]


async def test_an_expired_lease_is_no_route_and_a_heartbeat_does_not_renew_it(
    servers: Servers, connect: Connect
) -> None:
    """Pushes may have been missed in the meantime, so the device must register again and resume."""
    async with connect(servers) as redis:
        short, long = routes(redis, 0.3), routes(redis)
        laptop = await long.register(LAPTOP, ONE)
        phone = await short.register(PHONE, ONE)

        async def is_alone() -> None:
            assert await long.look_up(ACME, [ANNA]) == LookupResult(
                {ANNA: [Route(LAPTOP.device, ONE, laptop.epoch)]}
            )

        await eventually(is_alone, AssertionError, 30)
        renewed = await long.renew(ONE, [HeldRoute(PHONE, phone.epoch), HeldRoute(LAPTOP, laptop.epoch)])
        assert renewed.lost == [PHONE]
        await is_alone()


async def test_a_renewed_lease_stays_valid(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        phone = await routes(redis, 2).register(PHONE, ONE)
        renewed = await routes(redis, 3_600).renew(ONE, [HeldRoute(PHONE, phone.epoch)])
        assert (renewed.lost, renewed.elsewhere) == ([], [])
        left_ms = await redis.read("PTTL", redis.keys.key(ACME, ANNA, "routes"))
        await asyncio.sleep(2)
        assert (await routes(redis).look_up(ACME, [ANNA])).found
    assert isinstance(left_ms, int)
    assert left_ms > 3_000_000


async def test_the_routes_of_a_user_expire_with_the_last_lease(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        await routes(redis, 0.2).register(PHONE, ONE)
        key = redis.keys.key(ACME, ANNA, "routes")

        async def is_gone() -> None:
            assert await redis.read("EXISTS", key) == 0

        await eventually(is_gone, AssertionError, 30)


async def test_many_users_are_looked_up_in_one_call(servers: Servers, connect: Connect) -> None:
    users = [UserId(f"user-{n}") for n in range(1_200)]
    async with connect(servers) as redis:
        registry = routes(redis)
        for user in users[::100]:
            await registry.register(DeviceKey(ACME, user, DeviceId("d")), ONE)
        assert set((await registry.look_up(ACME, users)).found) == set(users[::100])


async def test_an_unavailable_redis_is_reported_to_every_caller(
    own_servers: Servers, connect: Connect
) -> None:
    async with connect(own_servers) as redis:
        registry = routes(redis)
        own_servers.owner(redis.keys.key(ACME, ANNA, "routes")).kill()
        with pytest.raises(UnavailableError):
            await registry.register(PHONE, ONE)
        answers = await registry.look_up(ACME, [ANNA])
        assert (dict(answers.found), answers.unknown) == ({}, frozenset({ANNA}))
        assert answers.failure


async def test_a_frozen_shard_makes_only_its_own_users_unknown(connect: Connect, cluster: Servers) -> None:
    """Renewals, look-ups and checkpoints: the keys of the other shards are answered."""
    users = [UserId(f"user-{n}") for n in range(60)]
    async with connect(cluster) as redis:
        registry, marks = routes(redis), RedisDeliveryCheckpoints(redis)
        devices = [DeviceKey(ACME, user, DeviceId("d")) for user in users]
        held = [HeldRoute(device, (await registry.register(device, ONE)).epoch) for device in devices]
        chats = [ChatKey(ACME, ChatId(f"g-{n}")) for n in range(60)]
        for chat in chats:
            await marks.advance(chat, 1, 1)
        frozen = cluster.nodes[1]
        theirs = {user for user in users if cluster.owner(redis.keys.key(ACME, user, "routes")) is frozen}
        silent = {
            chat for chat in chats if cluster.owner(redis.keys.key(ACME, chat.chat, "handled")) is frozen
        }
        assert 0 < len(theirs) < len(users)
        assert 0 < len(silent) < len(chats)
        frozen.freeze()
        answers, renewed = await registry.look_up(ACME, users), await registry.renew(ONE, held)
        handled = await marks.read(chats)
        frozen.thaw()
        assert answers.unknown == theirs
        assert set(answers.found) == set(users) - theirs
        assert (list(renewed.lost), list(renewed.elsewhere)) == ([], [])
        assert {device.user for device in renewed.unknown} == theirs
        assert handled.unknown == silent
        assert handled.found == dict.fromkeys(set(chats) - silent, 1)


async def test_the_newer_route_has_the_higher_epoch_after_the_clock_was_set_back(
    servers: Servers, connect: Connect
) -> None:
    async with connect(servers) as redis:
        tomorrow_us = 4_000_000_000_000_000
        was = f"{ONE} {tomorrow_us} {tomorrow_us // 1000}"
        await redis.write("HSET", redis.keys.key(ACME, ANNA, "routes"), PHONE.device, was)
        now = await routes(redis).register(PHONE, TWO)
    assert now.replaced_route == Route(PHONE.device, ONE, tomorrow_us)
    assert now.epoch == tomorrow_us + 1


async def test_only_a_new_socket_replaces_the_route_of_another(servers: Servers, connect: Connect) -> None:
    """After a loss of Redis, an old socket may register first or last: it never replaces the newer one."""
    async with connect(servers) as redis:
        registry = routes(redis)
        old, new = await registry.register(PHONE, ONE), await registry.register(PHONE, TWO)
        assert await registry.reregister(PHONE, ONE, old.epoch) is None
        again = await registry.reregister(PHONE, TWO, new.epoch)
        assert again is not None
        assert again.epoch > new.epoch
        assert await registry.look_up(ACME, [ANNA]) == LookupResult(
            {ANNA: [Route(PHONE.device, TWO, again.epoch)]}
        )
        await redis.write("DEL", redis.keys.key(ACME, ANNA, "routes"))
        assert await registry.reregister(PHONE, ONE, old.epoch) is not None
