"""The gateway's sockets beside the bare library: echo, fan-out of one frame, memory of an idle connection.

    just bench gateway

Each server is a process of its own; what counts is its CPU time, because the clients share the machine with it.
The clients are raw sockets in one more process, so that they cost little and hold no WebSocket library.
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
"""Of WebSocket, before a payload of 126 bytes and more."""
OURS, BARE, AGAIN = "picows behind the port", "bare picows", "bare picows again"
FILES = 20_000
ECHOES = 20
PUSHES = 3

_CONTEXT = multiprocessing.get_context("spawn")


type Measurement = Callable[["Child", "Child", int], float]


class Child:
    """A process that does what it is told over a pipe, one thing at a time."""

    def __init__(self, target: Callable[..., None], *given: object) -> None:
        self._pipe, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=target, args=(theirs, *given), daemon=True)
        self._process.start()

    def ask(self, *what: object, within_s: float = 120.0) -> Any:  # noqa: ANN401 - whatever the child answers
        self._pipe.send(what)
        if not self._pipe.poll(within_s):
            raise TimeoutError(f"{what[0]}: no answer within {within_s} s")
        return self._pipe.recv()

    def close(self) -> None:
        self._process.terminate()
        self._process.join(10)
        self._pipe.close()


@contextlib.contextmanager
def stage(server: str, count: int) -> Iterator[tuple[Child, Child]]:
    """A server with so many connections open, and who holds their other ends."""
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
    """CPU of the server per message that comes and goes back, with many connections at once."""
    before = serving.ask("cpu")
    holding.ask("echo", ECHOES)
    return float((serving.ask("cpu") - before) / (connections * ECHOES) * 1e6)


def fanout_us(serving: Child, holding: Child, connections: int) -> float:
    """CPU of the server per delivery of one frame to everybody."""
    before = serving.ask("cpu")
    for _ in range(PUSHES):
        serving.ask("push")
        holding.ask("drain")
    return float((serving.ask("cpu") - before) / (connections * PUSHES) * 1e6)


def idle_kb(server: str, connections: int) -> tuple[float, float]:
    """Resident memory per open connection, and CPU in µs that opening one took."""
    with stage(server, connections) as (serving, _):
        grown_kb, cpu_s = serving.ask("grown")
        return float(grown_kb / connections), float(cpu_s / connections * 1e6)


def measure(names: list[str], one: Measurement, connections: int, rounds: int) -> dict[str, Spread]:
    """All servers are up at once and take short turns, so that a noisy moment hits them alike."""
    runs: dict[str, list[float]] = {name: [] for name in names}
    with contextlib.ExitStack() as stages:
        staged = {name: stages.enter_context(stage(name, connections)) for name in names}
        for number in range(rounds + 1):
            first = number % len(names)
            for name in names[first:] + names[:first]:
                taken = one(*staged[name], connections)
                if number:  # the first round warms up
                    runs[name].append(taken)
    return {name: Spread(tuple(values)) for name, values in runs.items()}


def ratio(spreads: dict[str, Spread]) -> float:
    """How much of the bare library's speed is left: pairs of a round, their median."""
    pairs = zip(spreads[BARE].runs, spreads[OURS].runs, strict=True)
    return statistics.median(bare / ours for bare, ours in pairs)


def real_process(connections: int) -> Taken:
    """`tidings run gateway` with devices that are let in and idle."""
    holding = Child(clients)
    try:
        taken = authenticated(holding, connections)
    finally:
        holding.close()
    print_table(
        ["tidings run gateway", "KB idle", "CPU µs to let in"],
        [("authenticated", f"{taken.kb:.1f}", f"{taken.accept_us:.0f}")],
    )
    return taken


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=40)
    options.add_argument("--idle", type=int, default=10_000, help="connections of the memory measurement")
    options.add_argument("--only", choices=["process"], help="the real process alone")
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
