"""Measure how the cost of a connection grows with the number of connections on two gateways.

Each device authenticates with its own token and is idle afterwards.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from fixtures.gateway_process import GatewayProcess, RunningGateway, open_crowd
from fixtures.installation import installation

from bench.gateway import Child
from bench.gateway_clients import clients
from bench.whole.model import Found, Goal, Growth, figure, line
from bench.whole.using import cpu_us, resident_kb

_WARM = 100
_GATEWAYS = 2
_IN_S = 400.0
_WHY = (
    "A connection is a few small objects and its buffers, without its own task or thread. To connect a device, the"
    " gateway verifies one signature, runs one script in Redis and reads the chat rows of the user. An idle connection"
    " costs its heartbeats, the renewal of its route, and a share of the gateway's fixed work, which falls as more"
    " connections share it."
)


_LET_IN = Goal(
    "less",
    250,
    "the gateway verifies a signature, runs a script in Redis and reads the user's chat rows before it accepts a device.",
)


def connections(*, is_short: bool) -> Found:
    sizes, idle_s = ([100, 200, 400], 3.0) if is_short else ([100, 300, 1_000, 3_000, 10_000, 20_000], 30.0)
    with installation() as env:
        gateways = [_start(env, sizes[-1]) for _ in range(_GATEWAYS)]
        holders = [Child(clients) for _ in gateways]
        try:
            return _grown(env, gateways, holders, sizes, idle_s)
        finally:
            for holder in holders:
                holder.close()


def _start(env: GatewayProcess, most: int) -> RunningGateway:
    return env.start(
        TIDINGS_GATEWAY_MAX_CONNECTIONS=str(most // _GATEWAYS + 500),
        **open_crowd(most),
        TIDINGS_GATEWAY_MAX_CONNECTS_PER_S="100000",
        TIDINGS_GATEWAY_CONNECT_BURST="100000",
        TIDINGS_LIMITS_ADDRESS_RATE="1000000/s",
        TIDINGS_LIMITS_ADDRESS_BURST="1000000",
        TIDINGS_LIMITS_TENANT_RATE="1000000/s",
        TIDINGS_LIMITS_TENANT_BURST="1000000",
    )


def _grown(
    env: GatewayProcess,
    gateways: list[RunningGateway],
    holders: list[Child],
    sizes: list[int],
    idle_s: float,
) -> Found:
    pids = [gateway.popen.pid for gateway in gateways]
    _enter(env, gateways, holders, 0, _WARM)
    first_kb = resident_kb(*pids)
    kb, let_in, idle = [], [], []
    for have, want in pairwise([0, *sizes]):
        before_us = cpu_us(*pids)
        _enter(env, gateways, holders, _WARM + have, want - have)
        let_in.append((float(want), (cpu_us(*pids) - before_us) / (want - have)))
        kb.append((float(want), max(0.0, resident_kb(*pids) - first_kb) / want))
        idle.append((float(want), _idle_us(pids, holders, idle_s) / (want + _WARM)))
    lines = (
        line("memory per connection", "KB resident", kb),
        line("connect", "µs of CPU per connection", let_in),
        line("idle connection", "µs of CPU per second", idle),
    )
    growth = Growth(title="Number of connections", along="connections on two gateways", lines=lines, why=_WHY)
    figures = (
        figure(
            "memory per connection, at the highest number of connections", kb[-1][1], "KB", Goal("less", 20)
        ),
        figure(
            "gateway CPU to connect a device, at the highest number of connections",
            let_in[-1][1],
            "µs",
            _LET_IN,
        ),
        figure("highest number of connections", float(sizes[-1]), better="more"),
    )
    return Found(growths=(growth,), figures=figures)


def _enter(
    env: GatewayProcess, gateways: list[RunningGateway], holders: list[Child], begin: int, count: int
) -> None:
    """Connect `count` devices, half of them to each gateway, and wait until the gateways count them as devices."""
    tokens = [env.token(f"user-{number}") for number in range(begin, begin + count)]
    ports = [gateway.socket_port for gateway in gateways]
    shares = [tokens[at::_GATEWAYS] for at in range(_GATEWAYS)]
    with ThreadPoolExecutor(len(holders)) as threads:
        list(
            threads.map(
                lambda one, port, some: one.ask("enter", port, some, within_s=_IN_S), holders, ports, shares
            )
        )
    ends_at = time.monotonic() + _IN_S
    while (there := sum(gateway.metric("socket_devices") for gateway in gateways)) < begin + count:
        if time.monotonic() > ends_at:
            raise TimeoutError(f"{there} of {begin + count} devices are connected after {_IN_S} seconds")
        time.sleep(0.05)


def _idle_us(pids: list[int], holders: list[Child], idle_s: float) -> float:
    """Return the CPU per second of the gateways while the clients only answer heartbeats."""
    before = cpu_us(*pids)
    with ThreadPoolExecutor(len(holders)) as threads:
        list(threads.map(lambda holder: holder.ask("idle", idle_s), holders))
    return (cpu_us(*pids) - before) / idle_s
