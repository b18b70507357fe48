"""Part: more and more devices on two gateways, each let in with a token of its own, then idle."""

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
    "A connection is a few small objects and its buffers, without a task or a thread of its own; being let in is one"
    " signature, one script in Redis and the reads of its rows. What an idle one costs are the server's heartbeats and"
    " its share of renewing routes and of what a gateway does anyway, which is shared by more."
)


_LET_IN = Goal(
    "less",
    250,
    "checking a signature, a script in Redis and the reads of a device's rows are all done before it is let in.",
)


def connections(*, is_short: bool) -> Found:
    sizes, idle_s = ([100, 200, 400], 3.0) if is_short else ([100, 300, 1_000, 3_000, 10_000, 20_000], 30.0)
    with installation() as house:
        gateways = [_start(house, sizes[-1]) for _ in range(_GATEWAYS)]
        holders = [Child(clients) for _ in gateways]
        try:
            return _grown(house, gateways, holders, sizes, idle_s)
        finally:
            for holder in holders:
                holder.close()


def _start(house: GatewayProcess, most: int) -> RunningGateway:
    return house.start(
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
    house: GatewayProcess,
    gateways: list[RunningGateway],
    holders: list[Child],
    sizes: list[int],
    idle_s: float,
) -> Found:
    pids = [gateway.popen.pid for gateway in gateways]
    _enter(house, gateways, holders, 0, _WARM)
    first_kb = resident_kb(*pids)
    kb, let_in, idle = [], [], []
    for have, want in pairwise([0, *sizes]):
        before_us = cpu_us(*pids)
        _enter(house, gateways, holders, _WARM + have, want - have)
        let_in.append((float(want), (cpu_us(*pids) - before_us) / (want - have)))
        kb.append((float(want), max(0.0, resident_kb(*pids) - first_kb) / want))
        idle.append((float(want), _idle_us(pids, holders, idle_s) / (want + _WARM)))
    lines = (
        line("memory of a connection", "KB resident", kb),
        line("letting one in", "µs of CPU each", let_in),
        line("keeping an idle one", "µs of CPU a second", idle),
    )
    growth = Growth(title="Connections", along="connections on two gateways", lines=lines, why=_WHY)
    figures = (
        figure("memory of a connection, at the most of them", kb[-1][1], "KB", Goal("less", 20)),
        figure("letting a device in, at the most of them", let_in[-1][1], "µs of CPU", _LET_IN),
        figure("most connections", float(sizes[-1]), better="more"),
    )
    return Found(growths=(growth,), figures=figures)


def _enter(
    house: GatewayProcess, gateways: list[RunningGateway], holders: list[Child], begin: int, count: int
) -> None:
    """Half of them on each gateway, and known to it as devices."""
    tokens = [house.token(f"user-{number}") for number in range(begin, begin + count)]
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
            raise TimeoutError(f"{there} of {begin + count} devices are there")
        time.sleep(0.05)


def _idle_us(pids: list[int], holders: list[Child], idle_s: float) -> float:
    """A second of it, heartbeats answered."""
    before = cpu_us(*pids)
    with ThreadPoolExecutor(len(holders)) as threads:
        list(threads.map(lambda holder: holder.ask("idle", idle_s), holders))
    return (cpu_us(*pids) - before) / idle_s
