"""The contract suites of routes, marks and the line, on the simulated Redis: the same tests as on real servers.

Left out, by name: what looks at Redis' own keys, kills a server, or asks what no port of the simulation has.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import ModuleType
from typing import Any, cast

import pytest
from contract.connections import test_line, test_marks, test_routes
from simulation.loop import Process, Scheduler
from simulation.redis import Redis, SimCheckpoints, SimRedis
from simulation.test_contracts import Direct

SUITES = (test_routes, test_marks, test_line)
LEFT_OUT = {
    "test_a_lease_that_is_renewed_runs_on",
    "test_routes_of_a_user_vanish_with_the_last_lease",
    "test_a_clock_that_was_set_back_does_not_make_the_newer_route_the_older",
    "test_only_a_new_socket_takes_over_from_another",
    "test_a_mark_outlives_the_stream_it_is_held_against_and_not_for_ever",
    "test_whether_somebody_listens_is_known_without_a_word_to_them",
}

type Contract = Callable[..., Coroutine[None, None, None]]


class RealTime:
    """In the place of scheduler and process: things happen on the loop that runs, at its time."""

    is_alive = True

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.outside = self
        self._last_at = 0.0

    @property
    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def call_later(self, seconds: float, do: Callable[..., None], *args: Any) -> None:
        asyncio.get_running_loop().call_later(seconds, do, *args)

    def call_at(self, at: float, do: Callable[..., None], *args: Any) -> None:
        """In order also at the same time, as the simulated loop keeps it."""
        self._last_at = max(at, self._last_at + 1e-6)
        asyncio.get_running_loop().call_at(self._last_at, do, *args)


def contracts() -> Iterator[Any]:
    for suite in SUITES:
        for name, test in _tests(suite):
            if name not in LEFT_OUT:
                yield pytest.param(suite, test, id=f"{suite.__name__}.{name}")


def _tests(suite: ModuleType) -> Iterator[tuple[str, Contract]]:
    for name, test in vars(suite).items():
        if not name.startswith("test_") or not inspect.iscoroutinefunction(test):
            continue
        if [*inspect.signature(test).parameters] == ["servers", "connect"]:
            yield name, test


@asynccontextmanager
async def _connected(servers: Redis) -> AsyncIterator[Redis]:
    yield servers


def _sim(server: Redis, *, lease_s: float = 60.0) -> SimRedis:
    return SimRedis(server, Direct(), cast("Process", server.scheduler), lease_s)


def _marks(server: Redis) -> SimCheckpoints:
    return SimCheckpoints(_sim(server))


def test_most_of_the_suites_is_run() -> None:
    assert len([*contracts()]) >= 12


@pytest.mark.parametrize(("suite", "contract"), [*contracts()])
async def test_the_simulated_redis_keeps_the_contract(
    suite: ModuleType, contract: Contract, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, made in (
        ("RedisConnectionRegistry", _sim),
        ("RedisDeliveryCheckpoints", _marks),
        ("RedisBus", _sim),
    ):
        if hasattr(suite, name):
            monkeypatch.setattr(suite, name, made)
    server = Redis(cast("Scheduler", RealTime()))
    connect: Callable[[Redis], AbstractAsyncContextManager[Redis]] = _connected
    await contract(server, connect)
