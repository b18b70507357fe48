"""Buckets in a real Redis or Valkey, under keys that nobody else uses."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

import pytest
from fixtures.engines import Space
from fixtures.redis_cluster import Servers

from tidings.platform.redis.client import Redis

type Connect = Callable[[Servers], AbstractAsyncContextManager[Redis]]


@pytest.fixture
def connect(space: Space) -> Connect:
    @asynccontextmanager
    async def connected(servers: Servers) -> AsyncIterator[Redis]:
        redis = await Redis.connect(replace(servers.options, key_prefix=space.key_prefix))
        try:
            yield redis
        finally:
            await redis.close()

    return connected
