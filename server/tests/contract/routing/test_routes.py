"""Routes on real servers, single and clustered: the newest counts, and nobody takes out what is not his."""

import asyncio

import pytest
from fixtures.loops import eventually
from fixtures.redis_cluster import Connect, Servers

from tidings.kernel.ids import DeviceId, DeviceKey, TenantId, UserId
from tidings.platform.redis.client import Redis
from tidings.routing.model import GatewayId, Route
from tidings.routing.ports import Held, RoutesAwayError
from tidings.routing.store import RedisRoutes

ACME = TenantId("acme")
ANNA, BEN, ODD = UserId("anna"), UserId("ben"), UserId("a{b}%")
PHONE = DeviceKey(ACME, ANNA, DeviceId("phone"))
LAPTOP = DeviceKey(ACME, ANNA, DeviceId("laptop"))
ONE, TWO = GatewayId("gateway-1"), GatewayId("gateway-2")


def routes(redis: Redis, lease_s: float = 60) -> RedisRoutes:
    return RedisRoutes(redis, lease_s=lease_s)


async def test_a_device_is_found_where_it_came_in(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        known = routes(redis)
        phone = await known.register(PHONE, ONE)
        laptop = await known.register(LAPTOP, TWO)
        odd = await known.register(DeviceKey(ACME, ODD, DeviceId("{}")), ONE)
        found = await known.of(ACME, [ANNA, BEN, ODD])
    assert set(found) == {ANNA, ODD}
    assert set(found[ANNA]) == {
        Route(PHONE.device, ONE, phone.epoch),
        Route(LAPTOP.device, TWO, laptop.epoch),
    }
    assert found[ODD] == [Route(DeviceId("{}"), ONE, odd.epoch)]


async def test_tenants_are_apart(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        await routes(redis).register(PHONE, ONE)
        assert await routes(redis).of(TenantId("other"), [ANNA]) == {}


async def test_who_comes_again_replaces_himself_and_is_told_whom(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        known = routes(redis)
        first = await known.register(PHONE, ONE)
        second = await known.register(PHONE, TWO)
        assert first.before is None
        assert second.before == Route(PHONE.device, ONE, first.epoch)
        assert second.epoch > first.epoch
        assert await known.of(ACME, [ANNA]) == {ANNA: [Route(PHONE.device, TWO, second.epoch)]}


async def test_an_old_socket_can_not_take_out_the_newer_route(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        known = routes(redis)
        old = await known.register(PHONE, ONE)
        new = await known.register(PHONE, ONE)
        assert not await known.remove(PHONE, ONE, old.epoch)
        assert not await known.remove(PHONE, TWO, new.epoch)
        assert await known.of(ACME, [ANNA])
        assert await known.remove(PHONE, ONE, new.epoch)
        assert not await known.remove(PHONE, ONE, new.epoch)
        assert await known.of(ACME, [ANNA]) == {}


async def test_a_heartbeat_tells_what_is_gone_from_what_is_elsewhere(
    servers: Servers, connect: Connect
) -> None:
    async with connect(servers) as redis:
        known = routes(redis)
        phone, laptop = await known.register(PHONE, ONE), await known.register(LAPTOP, ONE)
        tablet = DeviceKey(ACME, BEN, DeviceId("tablet"))
        await known.register(PHONE, TWO)
        held = [Held(PHONE, phone.epoch), Held(LAPTOP, laptop.epoch), Held(tablet, 7)]
        renewed = await known.renew(ONE, held)
        assert renewed.elsewhere == [PHONE]
        assert renewed.gone == [tablet]


async def test_a_lease_that_ran_out_is_no_route_and_a_heartbeat_does_not_bring_it_back(
    servers: Servers, connect: Connect
) -> None:
    """Pushes may have been missed meanwhile, so whoever held it has to come in again and resume."""
    async with connect(servers) as redis:
        short, long = routes(redis, 0.3), routes(redis)
        laptop = await long.register(LAPTOP, ONE)
        phone = await short.register(PHONE, ONE)

        async def is_alone() -> None:
            assert await long.of(ACME, [ANNA]) == {ANNA: [Route(LAPTOP.device, ONE, laptop.epoch)]}

        await eventually(is_alone, AssertionError, 30)
        renewed = await long.renew(ONE, [Held(PHONE, phone.epoch), Held(LAPTOP, laptop.epoch)])
        assert renewed.gone == [PHONE]
        await is_alone()


async def test_a_lease_that_is_renewed_runs_on(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        phone = await routes(redis, 2).register(PHONE, ONE)
        renewed = await routes(redis, 3_600).renew(ONE, [Held(PHONE, phone.epoch)])
        assert (renewed.gone, renewed.elsewhere) == ([], [])
        left_ms = await redis.read("PTTL", redis.keys.key(ACME, ANNA, "routes"))
        await asyncio.sleep(2)
        assert await routes(redis).of(ACME, [ANNA])
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
        assert set(await known.of(ACME, users)) == set(users[::100])


async def test_while_redis_is_away_that_is_what_everybody_is_told(
    own_servers: Servers, connect: Connect
) -> None:
    async with connect(own_servers) as redis:
        known = routes(redis)
        own_servers.owner(redis.keys.key(ACME, ANNA, "routes")).kill()
        with pytest.raises(RoutesAwayError):
            await known.register(PHONE, ONE)
        with pytest.raises(RoutesAwayError):
            await known.of(ACME, [ANNA])


async def test_a_clock_that_was_set_back_does_not_make_the_newer_route_the_older(
    servers: Servers, connect: Connect
) -> None:
    async with connect(servers) as redis:
        tomorrow_us = 4_000_000_000_000_000
        was = f"{ONE} {tomorrow_us} {tomorrow_us // 1000}"
        await redis.write("HSET", redis.keys.key(ACME, ANNA, "routes"), PHONE.device, was)
        now = await routes(redis).register(PHONE, TWO)
    assert now.before == Route(PHONE.device, ONE, tomorrow_us)
    assert now.epoch == tomorrow_us + 1
