"""Again, on what is there now: for changes that were made ready on rows which somebody else changed meanwhile."""

import asyncio
import random
from collections.abc import Awaitable, Callable

from tidings.kernel.errors import Code, TidingsError

TRIES = 12
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.005, 0.2


async def retry_on_conflict[T](step: Callable[[], Awaitable[T]]) -> T:
    """Many who change one thing at once each lose some rounds; chance keeps them from losing them all together."""
    for tried in range(TRIES - 1):
        try:
            return await step()
        except TidingsError as error:
            if error.code is not Code.WRITE_CONFLICT:
                raise
        await asyncio.sleep(random.uniform(0, min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2**tried)))  # noqa: S311
    return await step()
