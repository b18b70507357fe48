"""A Redis client for one test, with a key prefix of its own."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from fixtures.engines import Namespace

from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.options import RedisOptions

type Client = Callable[..., AbstractAsyncContextManager[RedisClient]]


@pytest.fixture
def client(space: Namespace) -> Client:
    """`async with client(options, name=value …)`: connected, and closed at the end."""

    @asynccontextmanager
    async def make(options: RedisOptions, *, wait: bool = True, **changes: Any) -> AsyncIterator[RedisClient]:
        redis = await RedisClient.connect(replace(options, key_prefix=space.key_prefix, **changes), wait=wait)
        try:
            yield redis
        finally:
            await redis.close()

    return make
