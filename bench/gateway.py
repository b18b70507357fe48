"""Compare the gateway's sockets with the plain library: echo, fan-out of one frame, memory of an idle connection.

    just bench gateway

Each server runs in its own process. The benchmark compares CPU time, because the clients share the machine. The clients
are raw sockets in another process, which cost little and use no WebSocket library.
"""

import argparse
import contextlib
import multiprocessing
import os
import resource
import statistics
from collections.abc import Callable, Iterator
from typing import Any

from bench.gateway_clients import clients
from bench.gateway_process import Taken, authenticated
from bench.gateway_servers import SERVERS
from bench.report import Spread, print_figures, print_table
from tidings_wire.codec import encode_push
from tidings_wire.frames.history import EntryPush

SAMPLE = EntryPush(
    chat="01JCQ3V5W8X9Y0Z1A2B3C4D5E6",
    sequence=48_213,
    by="user0001",
    at=1_763_184_000_000,
    text="x" * 100,
)
HEAD_BYTES = 4
"""Size of the WebSocket header before a payload of 126 bytes or more."""
OURS, BARE, AGAIN = "picows behind the port", "bare picows", "bare picows again"
FILES = 20_000
ECHOES = 20
PUSHES = 3

_CONTEXT = multiprocessing.get_context("spawn")


type Measurement = Callable[["Child", "Child", int], float]


class Child:
    """A process that executes commands from a pipe, one at a time."""

    def __init__(self, target: Callable[..., None], *given: object) -> None:
        self._pipe, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=target, args=(theirs, *given), daemon=True)
        self._process.start()

    def ask(self, *what: object, within_s: float = 120.0) -> Any:  # noqa: ANN401 - any answer of the child
        self._pipe.send(what)
        if not self._pipe.poll(within_s):
            raise TimeoutError(f"{what[0]}: no answer within {within_s} s")
        return self._pipe.recv()

    def close(self) -> None:
        self._process.terminate()
        self._process.join(10)
        self._pipe.close()


@contextlib.contextmanager
def use_cases(server: str, count: int) -> Iterator[tuple[Child, Child]]:
    """Start a server with `count` open connections. Yield the server and the process with the clients."""
    serving = Child(SERVERS[server])
    try:
        port = serving.ask("port")
        holding = Child(clients)
        try:
            before = serving.ask("memory")
            holding.ask("open", port, count)
            serving.ask("opened", count, before)
            yield serving, holding
        finally:
            holding.close()
    finally:
        serving.close()


def echo_us(serving: Child, holding: Child, connections: int) -> float:
    """Return the server CPU per echoed message, with many connections at the same time."""
    before = serving.ask("cpu")
    holding.ask("echo", ECHOES)
    return float((serving.ask("cpu") - before) / (connections * ECHOES) * 1e6)


def fanout_us(serving: Child, holding: Child, connections: int) -> float:
    """Return the server CPU per delivery of one frame to all connections."""
    before = serving.ask("cpu")
    for _ in range(PUSHES):
        serving.ask("push")
        holding.ask("drain")
    return float((serving.ask("cpu") - before) / (connections * PUSHES) * 1e6)


def idle_kb(server: str, connections: int) -> tuple[float, float]:
    """Return the resident memory per open connection in KB, and the CPU to open one in µs."""
    with use_cases(server, connections) as (serving, _):
        grown_kb, cpu_s = serving.ask("grown")
        return float(grown_kb / connections), float(cpu_s / connections * 1e6)


def measure(names: list[str], one: Measurement, connections: int, rounds: int) -> dict[str, Spread]:
    """Measure all servers in short turns while all are running, so that a disturbance affects all of them."""
    runs: dict[str, list[float]] = {name: [] for name in names}
    with contextlib.ExitStack() as stages:
        staged = {name: stages.enter_context(use_cases(name, connections)) for name in names}
        for number in range(rounds + 1):
            first = number % len(names)
            for name in names[first:] + names[:first]:
                taken = one(*staged[name], connections)
                if number:  # The first round warms up.
                    runs[name].append(taken)
    return {name: Spread(tuple(values)) for name, values in runs.items()}


def ratio(spreads: dict[str, Spread]) -> float:
    """Return the speed relative to the plain library: the median of the ratios of each round."""
    pairs = zip(spreads[BARE].runs, spreads[OURS].runs, strict=True)
    return statistics.median(bare / ours for bare, ours in pairs)


def real_process(connections: int) -> Taken:
    """Measure `tidings run gateway` with authenticated, idle devices."""
    holding = Child(clients)
    try:
        taken = authenticated(holding, connections)
    finally:
        holding.close()
    print_table(
        ["tidings run gateway", "KB idle", "CPU µs to connect"],
        [("authenticated", f"{taken.kb:.1f}", f"{taken.accept_us:.0f}")],
    )
    return taken


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=40)
    options.add_argument(
        "--idle", type=int, default=10_000, help="number of connections in the memory measurement"
    )
    options.add_argument("--only", choices=["process"], help="measure only the real gateway process")
    given = options.parse_args()
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (FILES, max(FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    )
    real = real_process(given.idle)
    if given.only:
        return
    names = [name for name in SERVERS if name != AGAIN]
    echo = measure(names, echo_us, 50, given.rounds)
    fanout = measure(names, fanout_us, 1_000, given.rounds)
    idle = {name: idle_kb(name, given.idle) for name in names}
    print_table(
        ["CPU µs, median (min to max)", "echo", "delivery of 1 to 1,000", "KB idle", "CPU µs to open"],
        [(n, echo[n], fanout[n], f"{idle[n][0]:.1f}", f"{idle[n][1]:.0f}") for n in names],
    )
    print_figures(
        {
            "echo_ratio": ratio(echo),
            "fanout_ratio": ratio(fanout),
            "fanout_us": fanout[OURS].median,
            "kb_per_connection": real.kb,
            "accept_us": real.accept_us,
            "bytes_per_100_byte_text": len(encode_push(SAMPLE)) + HEAD_BYTES,
            "kb_per_socket": idle[OURS][0],
            "open_us": idle[OURS][1],
            "echo_us": echo[OURS].median,
        }
    )


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    main()
