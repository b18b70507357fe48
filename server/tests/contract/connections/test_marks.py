"""How far a chat was handled: without holes, forward only, and lost without harm."""

import pytest
from fixtures.redis_cluster import Connect, Servers

from tidings.connections.model import LookupResult
from tidings.delivery.store.checkpoints import RedisDeliveryCheckpoints
from tidings.kernel.errors import UnavailableError
from tidings.kernel.ids import ChatId, ChatKey, TenantId

CHAT = ChatKey(TenantId("acme"), ChatId("g-1"))
OTHER = ChatKey(TenantId("acme"), ChatId("g-{2}"))


async def test_a_mark_follows_what_was_handled(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        marks = RedisDeliveryCheckpoints(redis)
        assert [await marks.advance(CHAT, *some) for some in ((1, 1), (2, 5), (6, 6))] == [1, 5, 6]
        assert await marks.read([CHAT, OTHER]) == LookupResult({CHAT: 6})


async def test_a_mark_does_not_jump_over_what_was_not_handled(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        marks = RedisDeliveryCheckpoints(redis)
        await marks.advance(CHAT, 1, 3)
        assert await marks.advance(CHAT, 5, 9) == 3
        assert await marks.read([CHAT]) == LookupResult({CHAT: 3})
        assert await marks.advance(CHAT, 4, 9) == 9


async def test_a_mark_never_goes_back(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        marks = RedisDeliveryCheckpoints(redis)
        await marks.advance(CHAT, 1, 9)
        assert await marks.advance(CHAT, 2, 4) == 9
        assert await marks.advance(CHAT, 8, 12) == 12


async def test_where_there_is_none_the_first_one_counts(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        assert await RedisDeliveryCheckpoints(redis).advance(OTHER, 70, 71) == 71


async def test_a_mark_outlives_the_stream_it_is_held_against_and_not_for_ever(
    servers: Servers, connect: Connect
) -> None:
    async with connect(servers) as redis:
        await RedisDeliveryCheckpoints(redis).advance(CHAT, 1, 1)
        left_s = await redis.read("TTL", redis.keys.key(CHAT.tenant, CHAT.chat, "handled"))
    assert isinstance(left_s, int)
    assert 2 * 86_400 < left_s <= 3 * 86_400


async def test_while_redis_is_away_that_is_told(own_servers: Servers, connect: Connect) -> None:
    async with connect(own_servers) as redis:
        own_servers.owner(redis.keys.key(CHAT.tenant, CHAT.chat, "handled")).kill()
        with pytest.raises(UnavailableError):
            await RedisDeliveryCheckpoints(redis).advance(CHAT, 1, 1)
