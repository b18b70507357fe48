"""Measure the cost of an authenticated device in a real gateway process on real engines.

Every device belongs to another user with its own token, so that each connect verifies a signature.
"""

import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

import psutil
from fixtures.gateway_process import RunningGateway, open_crowd
from fixtures.installation import installation

_WARM = 200


class Holder(Protocol):
    """The process with the clients."""

    def ask(self, *what: object, within_s: float = ...) -> object: ...


class Taken(NamedTuple):
    kb: float
    accept_us: float


def authenticated(holding: Holder, count: int) -> Taken:
    with installation() as env:
        gateway = env.start(
            TIDINGS_GATEWAY_MAX_CONNECTIONS=str(count + 1_000),
            **open_crowd(count + 1_000),
            TIDINGS_GATEWAY_MAX_CONNECTS_PER_S="100000",
            TIDINGS_GATEWAY_CONNECT_BURST="100000",
            TIDINGS_LIMITS_ADDRESS_RATE="1000000/s",
            TIDINGS_LIMITS_ADDRESS_BURST="1000000",
        )
        tokens = [env.token(f"user-{n}") for n in range(count + _WARM)]
        holding.ask("enter", gateway.socket_port, tokens[:_WARM])
        return _measured(gateway, lambda: holding.ask("enter", gateway.socket_port, tokens[_WARM:]), count)


def _measured(gateway: RunningGateway, enter: Callable[[], object], count: int) -> Taken:
    process = psutil.Process(gateway.popen.pid)
    before_kb, before_s = process.memory_info().rss / 1_024, _cpu_s(process)
    enter()
    taken_s = _cpu_s(process) - before_s
    while gateway.metric("socket_devices") < count + _WARM:
        time.sleep(0.05)
    taken_kb = process.memory_info().rss / 1_024 - before_kb
    return Taken(taken_kb / count, taken_s / count * 1e6)


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
