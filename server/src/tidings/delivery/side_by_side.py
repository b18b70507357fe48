"""Many calls at once, but not too many; and none is left out because another failed."""

import asyncio
from collections.abc import Awaitable, Iterable

MAX_CONCURRENT = 25


async def gather_limited[T](calls: Iterable[Awaitable[T]], at_once: int = MAX_CONCURRENT) -> list[T]:
    """All are tried before the first error is told, so that one in trouble does not hold up the others."""
    done = await gather_results(calls, at_once)
    for result in done:
        if isinstance(result, BaseException):
            raise result
    return [result for result in done if not isinstance(result, BaseException)]


async def gather_results[T](
    calls: Iterable[Awaitable[T]], at_once: int = MAX_CONCURRENT
) -> list[T | BaseException]:
    """What each gave or raised, in their order. A task costs more than many a call: one alone gets none."""
    waiting = list(calls)
    if len(waiting) == 1:
        return [await _outcome(waiting[0])]
    if len(waiting) <= at_once:
        return await asyncio.gather(*waiting, return_exceptions=True)
    room = asyncio.Semaphore(at_once)

    async def call(each: Awaitable[T]) -> T:
        async with room:
            return await each

    return await asyncio.gather(*map(call, waiting), return_exceptions=True)


async def _outcome[T](call: Awaitable[T]) -> T | BaseException:
    try:
        return await call
    except Exception as error:  # noqa: BLE001 - told, as those of many are
        return error
