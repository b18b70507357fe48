"""A client of the test's own, with keys that nobody else uses."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from fixtures.engines import Space

from tidings.platform.redis.client import Redis
from tidings.platform.redis.options import Options

type Client = Callable[..., AbstractAsyncContextManager[Redis]]


@pytest.fixture
def client(space: Space) -> Client:
    """`async with client(options, name=value …)`: connected, and closed at the end."""

    @asynccontextmanager
    async def make(options: Options, *, wait: bool = True, **changes: Any) -> AsyncIterator[Redis]:
        redis = await Redis.connect(replace(options, key_prefix=space.key_prefix, **changes), wait=wait)
        try:
            yield redis
        finally:
            await redis.close()

    return make
