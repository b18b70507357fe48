"""Routes on real servers, single and clustered: the newest counts, and nobody takes out what is not his."""

import asyncio

import pytest
from fixtures.loops import eventually
from fixtures.redis_cluster import Connect, Servers

from tidings.connections.model import GatewayId, HeldRoute, LookupResult, Route
from tidings.connections.store import RedisConnectionRegistry
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


async def test_a_device_is_found_where_it_came_in(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        known = routes(redis)
        phone = await known.register(PHONE, ONE)
        laptop = await known.register(LAPTOP, TWO)
        odd = await known.register(DeviceKey(ACME, ODD, DeviceId("{}")), ONE)
        found = (await known.look_up(ACME, [ANNA, BEN, ODD])).found
    assert set(found) == {ANNA, ODD}
    assert set(found[ANNA]) == {
        Route(PHONE.device, ONE, phone.epoch),
        Route(LAPTOP.device, TWO, laptop.epoch),
    }
    assert found[ODD] == [Route(DeviceId("{}"), ONE, odd.epoch)]


async def test_tenants_are_apart(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        await routes(redis).register(PHONE, ONE)
        assert await routes(redis).look_up(TenantId("other"), [ANNA]) == LookupResult({})


async def test_who_comes_again_replaces_himself_and_is_told_whom(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        known = routes(redis)
        first = await known.register(PHONE, ONE)
        second = await known.register(PHONE, TWO)
        assert first.replaced_route is None
        assert second.replaced_route == Route(PHONE.device, ONE, first.epoch)
        assert second.epoch > first.epoch
        assert await known.look_up(ACME, [ANNA]) == LookupResult(
            {ANNA: [Route(PHONE.device, TWO, second.epoch)]}
        )


async def test_an_old_socket_can_not_take_out_the_newer_route(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        known = routes(redis)
        old = await known.register(PHONE, ONE)
        new = await known.register(PHONE, ONE)
        assert not await known.remove(PHONE, ONE, old.epoch)
        assert not await known.remove(PHONE, TWO, new.epoch)
        assert (await known.look_up(ACME, [ANNA])).found
        assert await known.remove(PHONE, ONE, new.epoch)
        assert not await known.remove(PHONE, ONE, new.epoch)
        assert await known.look_up(ACME, [ANNA]) == LookupResult({})


async def test_a_heartbeat_tells_what_is_gone_from_what_is_elsewhere(
    servers: Servers, connect: Connect
) -> None:
    async with connect(servers) as redis:
        known = routes(redis)
        phone, laptop = await known.register(PHONE, ONE), await known.register(LAPTOP, ONE)
        tablet = DeviceKey(ACME, BEN, DeviceId("tablet"))
        await known.register(PHONE, TWO)
        held = [HeldRoute(PHONE, phone.epoch), HeldRoute(LAPTOP, laptop.epoch), HeldRoute(tablet, 7)]
        renewed = await known.renew(ONE, held)
        assert renewed.elsewhere == [PHONE]
        assert renewed.lost == [tablet]


async def test_a_lease_that_ran_out_is_no_route_and_a_heartbeat_does_not_bring_it_back(
    servers: Servers, connect: Connect
) -> None:
    """Pushes may have been missed meanwhile, so whoever held it has to come in again and resume."""
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


async def test_a_lease_that_is_renewed_runs_on(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        phone = await routes(redis, 2).register(PHONE, ONE)
        renewed = await routes(redis, 3_600).renew(ONE, [HeldRoute(PHONE, phone.epoch)])
        assert (renewed.lost, renewed.elsewhere) == ([], [])
        left_ms = await redis.read("PTTL", redis.keys.key(ACME, ANNA, "routes"))
        await asyncio.sleep(2)
        assert (await routes(redis).look_up(ACME, [ANNA])).found
    assert isinstance(left_ms, int)
    assert left_ms > 3_000_000


async def test_routes_of_a_user_vanish_with_the_last_lease(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        await routes(redis, 0.2).register(PHONE, ONE)
        key = redis.keys.key(ACME, ANNA, "routes")

        async def is_gone() -> None:
            assert await redis.read("EXISTS", key) == 0

        await eventually(is_gone, AssertionError, 30)


async def test_many_users_are_looked_up_at_once(servers: Servers, connect: Connect) -> None:
    users = [UserId(f"user-{n}") for n in range(1_200)]
    async with connect(servers) as redis:
        known = routes(redis)
        for user in users[::100]:
            await known.register(DeviceKey(ACME, user, DeviceId("d")), ONE)
        assert set((await known.look_up(ACME, users)).found) == set(users[::100])


async def test_while_redis_is_away_that_is_what_everybody_is_told(
    own_servers: Servers, connect: Connect
) -> None:
    async with connect(own_servers) as redis:
        known = routes(redis)
        own_servers.owner(redis.keys.key(ACME, ANNA, "routes")).kill()
        with pytest.raises(UnavailableError):
            await known.register(PHONE, ONE)
        answers = await known.look_up(ACME, [ANNA])
        assert (dict(answers.found), answers.unknown) == ({}, frozenset({ANNA}))
        assert answers.failure


async def test_a_frozen_shard_makes_its_own_users_unknown_and_nobody_else(
    connect: Connect, cluster: Servers
) -> None:
    """Renewing, looking up and marks: the keys of the other shards are answered."""
    users = [UserId(f"user-{n}") for n in range(60)]
    async with connect(cluster) as redis:
        known, marks = routes(redis), RedisDeliveryCheckpoints(redis)
        devices = [DeviceKey(ACME, user, DeviceId("d")) for user in users]
        held = [HeldRoute(device, (await known.register(device, ONE)).epoch) for device in devices]
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
        answers, renewed = await known.look_up(ACME, users), await known.renew(ONE, held)
        handled = await marks.read(chats)
        frozen.thaw()
        assert answers.unknown == theirs
        assert set(answers.found) == set(users) - theirs
        assert (list(renewed.lost), list(renewed.elsewhere)) == ([], [])
        assert {device.user for device in renewed.unknown} == theirs
        assert handled.unknown == silent
        assert handled.found == dict.fromkeys(set(chats) - silent, 1)


async def test_a_clock_that_was_set_back_does_not_make_the_newer_route_the_older(
    servers: Servers, connect: Connect
) -> None:
    async with connect(servers) as redis:
        tomorrow_us = 4_000_000_000_000_000
        was = f"{ONE} {tomorrow_us} {tomorrow_us // 1000}"
        await redis.write("HSET", redis.keys.key(ACME, ANNA, "routes"), PHONE.device, was)
        now = await routes(redis).register(PHONE, TWO)
    assert now.replaced_route == Route(PHONE.device, ONE, tomorrow_us)
    assert now.epoch == tomorrow_us + 1


async def test_only_a_new_socket_takes_over_from_another(servers: Servers, connect: Connect) -> None:
    """After a loss an old socket may come first or last: it never drives out the one that the device rests on."""
    async with connect(servers) as redis:
        known = routes(redis)
        old, new = await known.register(PHONE, ONE), await known.register(PHONE, TWO)
        assert await known.reregister(PHONE, ONE, old.epoch) is None
        again = await known.reregister(PHONE, TWO, new.epoch)
        assert again is not None
        assert again.epoch > new.epoch
        assert await known.look_up(ACME, [ANNA]) == LookupResult(
            {ANNA: [Route(PHONE.device, TWO, again.epoch)]}
        )
        await redis.write("DEL", redis.keys.key(ACME, ANNA, "routes"))
        assert await known.reregister(PHONE, ONE, old.epoch) is not None
