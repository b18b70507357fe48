"""The contract suites of routes, checkpoints and bus on the simulated Redis: the same tests as on real servers.

Tests that read keys of Redis, kill a server, or use methods that the simulation does not have are skipped by name.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import ModuleType
from typing import Any, cast

import pytest
from contract.connections import test_bus, test_checkpoints, test_routes
from simulation.loop import Process, Scheduler
from simulation.redis import Redis, SimRedis
from simulation.redis_stores import SimCheckpoints
from simulation.test_contracts import Direct

SUITES = (test_routes, test_checkpoints, test_bus)
SKIPPED = {
    "test_a_renewed_lease_stays_valid",
    "test_the_routes_of_a_user_expire_with_the_last_lease",
    "test_the_newer_route_has_the_higher_epoch_after_the_clock_was_set_back",
    "test_only_a_new_socket_replaces_the_route_of_another",
    "test_a_checkpoint_expires_later_than_the_stream",
    "test_a_subscriber_is_detected_without_publishing",
    "test_a_user_is_offline_at_once_after_a_close_and_later_if_the_gateway_vanished",
}

type Contract = Callable[..., Coroutine[None, None, None]]


class RealTime:
    """Replaces scheduler and process: callbacks run on the running loop, in real time."""

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
        """Keep the order of callbacks with equal times, as the simulated loop does."""
        self._last_at = max(at, self._last_at + 1e-6)
        asyncio.get_running_loop().call_at(self._last_at, do, *args)


def contracts() -> Iterator[Any]:
    for suite in SUITES:
        for name, test in _tests(suite):
            if name not in SKIPPED:
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


def test_most_tests_of_the_suites_run() -> None:
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
