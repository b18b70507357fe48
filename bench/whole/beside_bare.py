"""Measure the overhead of durable sends over plain DynamoDB writes, and of the gateway over its WebSocket library."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import uvloop

from bench.append import Run, engine, rounds
from bench.gateway import AGAIN, BARE, OURS, SAMPLE, echo_us, fanout_us, measure
from bench.whole.model import Figure, Found, Goal, figure
from tidings_wire.codec import encode_push

_OF_BARE = Goal("more", 0.90)
_HEAD_BYTES = 4


def sends(*, is_short: bool) -> Found:
    count, times = (400, 2) if is_short else (8_000, 6)
    with engine("dynoxide") as tables, tempfile.TemporaryDirectory() as home:
        runs, units = uvloop.run(rounds(tables, count, times, Path(home) / "tidings.key"))
    bare, again = runs["many chats, bare puts"], runs["many chats, bare puts again"]
    ours, hot = runs["many chats, messages.send"], runs["hot chat, messages.send"]
    noise = _ratios(again, bare)
    return Found(
        figures=(
            figure(
                "throughput of durable sends relative to plain PutItem, many chats",
                _ratios(ours, bare),
                "",
                _OF_BARE,
                noise=noise,
            ),
            _per_s("durable sends, many chats", ours),
            _per_s("plain PutItem", bare),
            _per_s("durable sends, one hot chat", hot),
            figure("process CPU per durable send, many chats", [run.cpu_us for run in ours], "µs"),
            figure("process CPU per plain PutItem", [run.cpu_us for run in bare], "µs"),
            figure("write units per send", units, "", Goal("less", 1.0)),
        ),
        remarks=(
            "Durable sends and plain writes use the same client and the same engine, and alternate within one run.",
        ),
    )


def _ratios(some: Sequence[Run], others: Sequence[Run]) -> list[float]:
    """Divide rates of the same round, so that a disturbance affects both."""
    return [one.per_s / other.per_s for one, other in zip(some, others, strict=True)]


def _per_s(name: str, runs: Sequence[Run]) -> Figure:
    return figure(name, [run.per_s for run in runs], "per second", better="more")


def fanout(*, is_short: bool) -> Found:
    connections, times = (100, 3) if is_short else (1_000, 40)
    names = [OURS, BARE, AGAIN]
    pushed = measure(names, fanout_us, connections, times)
    # A short run spends most of its time on starting processes, so it measures the fan-out only.
    pairs = {"fan-out": pushed, **({} if is_short else {"echo": measure(names, echo_us, 50, times)})}
    ratios = [
        figure(
            f"{what} speed relative to the plain WebSocket library",
            _of_bare(spreads[OURS].runs, spreads[BARE].runs),
            "",
            _OF_BARE,
            noise=_of_bare(spreads[AGAIN].runs, spreads[BARE].runs),
        )
        for what, spreads in pairs.items()
    ]
    per_delivery = figure("CPU per fan-out delivery", pushed[OURS].runs, "µs", Goal("less", 7.4))
    size = len(encode_push(SAMPLE)) + _HEAD_BYTES
    on_the_wire = figure("wire size of a message with 100 bytes of text", size, "bytes", Goal("less", 213))
    return Found(figures=(*ratios, per_delivery, on_the_wire))


def _of_bare(ours_us: Sequence[float], bare_us: Sequence[float]) -> list[float]:
    """Return the speed of the gateway relative to the plain library, for each round."""
    return [bare / ours for ours, bare in zip(ours_us, bare_us, strict=True)]
