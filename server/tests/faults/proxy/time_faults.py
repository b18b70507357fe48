"""Faults of time: delayed, held until the test releases them, and duplicated."""

import asyncio
from dataclasses import dataclass
from enum import StrEnum
from typing import override

from faults.proxy.fault import Exchange, Fault
from faults.proxy.frequency import Between
from faults.proxy.reply import Reply

type Seconds = float | Between


class Point(StrEnum):
    """Where a request is held. `REQUEST`: the engine has not received it. `ANSWER`: the engine has applied it."""

    REQUEST = "request"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Delay(Fault):
    """Wait before the engine gets the request, after it has answered, or both; fixed or from a seeded range."""

    before_s: Seconds = 0.0
    after_s: Seconds = 0.0

    @override
    async def apply(self, exchange: Exchange) -> Reply:
        await asyncio.sleep(_seconds(self.before_s, exchange.nth))
        reply = await exchange.forward()
        await asyncio.sleep(_seconds(self.after_s, exchange.nth))
        return reply


def _seconds(given: Seconds, nth: int) -> float:
    return given.seconds(nth) if isinstance(given, Between) else given


@dataclass(frozen=True, slots=True)
class Hold(Fault):
    """Hold the request or its answer until the test releases it. A client that gives up meanwhile does not stop it."""

    at: Point = Point.REQUEST

    @override
    async def apply(self, exchange: Exchange) -> Reply:
        if self.at is Point.REQUEST:
            await exchange.hold()
            return await exchange.forward()
        reply = await exchange.forward()
        await exchange.hold()
        return reply


@dataclass(frozen=True, slots=True)
class Repeat(Fault):
    """Forward the request and keep a copy, which goes to the engine on release: a delayed duplicate."""

    @override
    async def apply(self, exchange: Exchange) -> Reply:
        reply = await exchange.forward()
        exchange.repeat_when_released()
        return reply
