"""Delivery checkpoints: without gaps, forward only, and lost without harm."""

import pytest
from fixtures.redis_cluster import Connect, Servers

from tidings.connections.model import LookupResult
from tidings.delivery.store.checkpoints import RedisDeliveryCheckpoints
from tidings.kernel.errors import UnavailableError
from tidings.kernel.ids import ChatId, ChatKey, TenantId

CHAT = ChatKey(TenantId("acme"), ChatId("g-1"))
OTHER = ChatKey(TenantId("acme"), ChatId("g-{2}"))


async def test_a_checkpoint_follows_processed_entries(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        checkpoints = RedisDeliveryCheckpoints(redis)
        assert [await checkpoints.advance(CHAT, *some) for some in ((1, 1), (2, 5), (6, 6))] == [1, 5, 6]
        assert await checkpoints.read([CHAT, OTHER]) == LookupResult({CHAT: 6})


async def test_a_checkpoint_does_not_pass_a_gap(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        checkpoints = RedisDeliveryCheckpoints(redis)
        await checkpoints.advance(CHAT, 1, 3)
        assert await checkpoints.advance(CHAT, 5, 9) == 3
        assert await checkpoints.read([CHAT]) == LookupResult({CHAT: 3})
        assert await checkpoints.advance(CHAT, 4, 9) == 9


async def test_a_checkpoint_never_moves_back(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        checkpoints = RedisDeliveryCheckpoints(redis)
        await checkpoints.advance(CHAT, 1, 9)
        assert await checkpoints.advance(CHAT, 2, 4) == 9
        assert await checkpoints.advance(CHAT, 8, 12) == 12


async def test_the_first_advance_creates_the_checkpoint(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        assert await RedisDeliveryCheckpoints(redis).advance(OTHER, 70, 71) == 71


async def test_a_checkpoint_expires_later_than_the_stream(servers: Servers, connect: Connect) -> None:
    async with connect(servers) as redis:
        await RedisDeliveryCheckpoints(redis).advance(CHAT, 1, 1)
        left_s = await redis.read("TTL", redis.keys.key(CHAT.tenant, CHAT.chat, "handled"))
    assert isinstance(left_s, int)
    assert 2 * 86_400 < left_s <= 3 * 86_400


async def test_an_unavailable_redis_is_reported(own_servers: Servers, connect: Connect) -> None:
    async with connect(own_servers) as redis:
        own_servers.owner(redis.keys.key(CHAT.tenant, CHAT.chat, "handled")).kill()
        with pytest.raises(UnavailableError):
            await RedisDeliveryCheckpoints(redis).advance(CHAT, 1, 1)
