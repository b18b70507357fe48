"""The network between a process and an engine: requests and answers are delayed, late or lost."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from simulation.loop import Process, Scheduler

_FAST_S, _SLOW_S = 0.02, 6.0


class NoAnswerError(Exception):
    """No answer in time. The request may have been applied, or may be applied later."""


class RefusedForNowError(Exception):
    """The engine rejected the request, by throttling or a conflict. It was not applied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkConditions:
    """How many of a thousand requests or answers are lost, very slow or rejected."""

    lost: float = 0.0
    slow: float = 0.0
    refused: float = 0.0

    @property
    def is_fair(self) -> bool:
        return not (self.lost or self.slow or self.refused)


FAIR = NetworkConditions()


class Network:
    def __init__(self, scheduler: Scheduler, seed: int) -> None:
        self.scheduler = scheduler
        self.chance = Random(f"{seed}/network")
        self.conditions = FAIR

    def calm(self) -> None:
        self.conditions = FAIR

    def worsen(self, **changes: float) -> None:
        self.conditions = replace(self.conditions, **changes)

    def delay_s(self) -> float:
        draw = self.chance.random
        is_slow = self.conditions.slow and draw() * 1000 < self.conditions.slow
        return draw() * (_SLOW_S if is_slow else _FAST_S)

    def is_lost(self) -> bool:
        return bool(self.conditions.lost) and self.chance.random() * 1000 < self.conditions.lost

    async def ask[T](self, what: str, do: Callable[[], T], within_s: float = 2.0) -> T:
        """Run `do` at the engine, at most once, perhaps after the caller has given up or died."""
        asker = asyncio.get_running_loop()
        answer: asyncio.Future[T] = asker.create_future()
        going_s, coming_s = self.delay_s(), self.delay_s()
        is_heard, is_answered = not self.is_lost(), not self.is_lost()
        if is_heard:
            exchange = _Exchange(self, what, do, answer, coming_s if is_answered else None)
            self.scheduler.outside.call_later(going_s, exchange.arrive)
        if not is_heard or not is_answered or going_s + coming_s >= within_s:
            asker.call_later(within_s, _settle, answer, None, NoAnswerError(what))
        return await answer


class _Exchange[T]:
    """One request in flight."""

    __slots__ = ("_answer", "_coming_s", "_do", "_network", "_what")

    def __init__(
        self,
        network: Network,
        what: str,
        do: Callable[[], T],
        answer: "asyncio.Future[T]",
        coming_s: float | None,
    ) -> None:
        self._network, self._what, self._do = network, what, do
        self._answer, self._coming_s = answer, coming_s

    def arrive(self) -> None:
        network = self._network
        result: Any = None
        error: Exception | None = None
        refused = network.conditions.refused
        if refused and network.chance.random() * 1000 < refused:
            error = RefusedForNowError(self._what)
        else:
            try:
                result = self._do()
            except Exception as raised:  # noqa: BLE001 - the error is the answer
                error = raised
        network.scheduler.tell(f"{_owner(self._answer)} {self._what}{'' if error is None else ' !'}")
        if self._coming_s is not None:
            network.scheduler.outside.call_later(self._coming_s, _settle, self._answer, result, error)


def _owner(answer: "asyncio.Future[Any]") -> str:
    loop = answer.get_loop()
    return loop.name if isinstance(loop, Process) else "?"


def _settle(answer: "asyncio.Future[Any]", result: Any, error: Exception | None) -> None:
    if answer.done():
        return
    if error is None:
        answer.set_result(result)
    else:
        answer.set_exception(error)
