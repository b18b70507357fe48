"""Compare the CPU per GET of the Redis client with redis-py and a plain socket, on a real Valkey.

The server is a separate process. Only the CPU time of the client counts, so other load has little effect.
"""

import argparse
import asyncio
import socket
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import redis.asyncio as redis_py
import uvloop

from bench.report import Spread, print_figures, print_table
from tidings.engines.jars import default_cache
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import Engine, StartRequest
from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.keys import KeyBuilder
from tidings.platform.redis.options import RedisOptions
from tidings.platform.redis.pipeline import pack_command

KEY = KeyBuilder("bench").key("acme", "01J8ZQ4M2Y9T6W3K5N7P0R1S2X", "route")
VALUE = b"gateway-01J8ZQ4M2Y9T6W3K5N7P0R1S2V:1789000000123:phone".ljust(100)
IN_FLIGHT = (1, 16, 256)
HEADLINE = 16

type Get = Callable[[], Awaitable[object]]
type Measurement = Callable[[int, int, int], Awaitable[float]]


@contextmanager
def valkey() -> Iterator[int]:
    with tempfile.TemporaryDirectory() as home:
        fleet = LocalCluster(Path(home), default_cache(), dies_with_us=True)
        fleet.start(StartRequest(engines=frozenset({Engine.VALKEY})))
        try:
            yield fleet.find("valkey").node.port
        finally:
            fleet.stop()


async def cpu_us(get: Get, in_flight: int, calls: int) -> float:
    """Return the CPU time per call with `in_flight` concurrent calls, after some calls to warm up."""

    async def worker(count: int) -> None:
        for _ in range(count):
            await get()

    await asyncio.gather(*(worker(3) for _ in range(in_flight)))
    each = max(1, calls // in_flight)
    before = time.process_time()
    await asyncio.gather(*(worker(each) for _ in range(in_flight)))
    return (time.process_time() - before) / (each * in_flight) * 1e6


async def ours(port: int, in_flight: int, calls: int) -> float:
    client = await RedisClient.connect(RedisOptions.from_url(f"redis://127.0.0.1:{port}"))
    await client.write("SET", KEY, VALUE)
    try:
        return await cpu_us(lambda: client.read("GET", KEY), in_flight, calls)
    finally:
        await client.close()


async def theirs(port: int, in_flight: int, calls: int) -> float:
    """redis-py in normal use: a pool with one connection for each command in flight."""
    async with redis_py.Redis(port=port, protocol=3, max_connections=in_flight + 1) as client:
        return await cpu_us(lambda: client.get(KEY), in_flight, calls)


async def theirs_by_hand(port: int, in_flight: int, calls: int) -> float:
    """redis-py with an explicit pipeline: the caller collects the commands."""
    async with redis_py.Redis(port=port, protocol=3) as client:

        async def batch() -> None:
            pipeline = client.pipeline(transaction=False)
            for _ in range(in_flight):
                pipeline.get(KEY)
            await pipeline.execute()

        return await cpu_us(batch, 1, calls // in_flight) / in_flight


def bare(port: int, in_flight: int, calls: int) -> float:
    """Exchange the same bytes on a blocking socket without parsing: the cost of the kernel alone."""
    request, size = pack_command("GET", KEY) * in_flight, len(b"$100\r\n\r\n" + VALUE) * in_flight
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        before = time.process_time()
        for _ in range(calls // in_flight):
            connection.sendall(request)
            left = size
            while left:
                left -= len(connection.recv(left))
        return (time.process_time() - before) / (calls // in_flight * in_flight) * 1e6


def contenders(port: int, calls: int) -> dict[tuple[str, int], Callable[[], float]]:
    """Return the contenders with their number of calls in flight. Expensive ones make fewer calls."""
    made: dict[tuple[str, int], Callable[[], float]] = {}
    for n in IN_FLIGHT:
        few = calls // 8
        some = few if n == 1 else calls
        made["ours", n] = partial(in_loop, asyncio.run, ours, port, n, some)
        made["ours, uvloop", n] = partial(in_loop, uvloop.run, ours, port, n, some)
        made["redis-py", n] = partial(in_loop, asyncio.run, theirs, port, n, few)
        made["redis-py, uvloop", n] = partial(in_loop, uvloop.run, theirs, port, n, few)
        made["redis-py, pipeline by hand", n] = partial(in_loop, asyncio.run, theirs_by_hand, port, n, some)
        made["bare socket", n] = partial(bare, port, n, some)
    return made


def in_loop(
    run: Callable[..., float], measurement: Measurement, port: int, in_flight: int, calls: int
) -> float:
    return run(measurement(port, in_flight, calls))


def measure(port: int, rounds: int, calls: int) -> dict[tuple[str, int], Spread]:
    """Measure all contenders in turn in each round, so that a disturbance affects all of them."""
    every = contenders(port, calls)
    runs = [{name: run() for name, run in every.items()} for _ in range(rounds)]
    return {name: Spread(tuple(run[name] for run in runs)) for name in every}


def figures(spreads: dict[tuple[str, int], Spread]) -> dict[str, float]:
    """Return the figures for 16 commands in flight, and for 1 and 256 with the suffixes `_1` and `_256`.

    The ratios are the CPU of other clients relative to the Tidings client, and of the Tidings client relative to a
    single command on a plain socket.
    """

    def ratio(other: str, n: int) -> float:
        return spreads[other, n].median / spreads["ours", n].median

    return {
        "get_cpu_us": spreads["ours", HEADLINE].median,
        "redis_py_ratio": ratio("redis-py", HEADLINE),
        "bare_ratio": spreads["ours", HEADLINE].median / spreads["bare socket", 1].median,
        "redis_py_pipeline_ratio": ratio("redis-py, pipeline by hand", HEADLINE),
        "get_cpu_us_1": spreads["ours", 1].median,
        "get_cpu_us_256": spreads["ours", 256].median,
        "redis_py_ratio_1": ratio("redis-py", 1),
        "redis_py_ratio_256": ratio("redis-py", 256),
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument(
        "--calls", type=int, default=16_384, help="calls per round; expensive contenders make an eighth"
    )
    given = options.parse_args()
    with valkey() as port:
        spreads = measure(port, given.rounds, given.calls)
    names = dict.fromkeys(name for name, _ in spreads)
    print_table(
        [f"CPU µs per GET, median of {given.rounds} (min to max)", *(f"{n} in flight" for n in IN_FLIGHT)],
        [(name, *(spreads[name, n] for n in IN_FLIGHT)) for name in names],
    )
    print_figures(figures(spreads))


if __name__ == "__main__":
    main()
