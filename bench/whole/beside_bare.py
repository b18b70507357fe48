"""Parts: what our rules take from the bare engine, and what our gateway takes from the bare WebSocket library."""

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
                "durable sends / bare PutItem, many chats", _ratios(ours, bare), "", _OF_BARE, noise=noise
            ),
            _per_s("durable sends, many chats", ours),
            _per_s("bare PutItem", bare),
            _per_s("durable sends, one hot chat", hot),
            figure("CPU of the sending process, many chats", [run.cpu_us for run in ours], "µs each"),
            figure("CPU of the putting process, bare", [run.cpu_us for run in bare], "µs each"),
            figure("write units of a send", units, "", Goal("less", 1.0)),
        ),
        remarks=("Sends and bare puts go through one client to one engine, in turns, in one run.",),
    )


def _ratios(some: Sequence[Run], others: Sequence[Run]) -> list[float]:
    """Of the same round, so that a noisy moment hits both."""
    return [one.per_s / other.per_s for one, other in zip(some, others, strict=True)]


def _per_s(name: str, runs: Sequence[Run]) -> Figure:
    return figure(name, [run.per_s for run in runs], "a second", better="more")


def fanout(*, is_short: bool) -> Found:
    connections, times = (100, 3) if is_short else (1_000, 40)
    names = [OURS, BARE, AGAIN]
    pushed = measure(names, fanout_us, connections, times)
    # most of a short form is starting its processes: half of them will do
    pairs = {"fan-out": pushed, **({} if is_short else {"echo": measure(names, echo_us, 50, times)})}
    ratios = [
        figure(
            f"gateway's {what} / bare library",
            _of_bare(spreads[OURS].runs, spreads[BARE].runs),
            "",
            _OF_BARE,
            noise=_of_bare(spreads[AGAIN].runs, spreads[BARE].runs),
        )
        for what, spreads in pairs.items()
    ]
    per_delivery = figure("CPU of a delivery in the fan-out", pushed[OURS].runs, "µs", Goal("less", 7.4))
    size = len(encode_push(SAMPLE)) + _HEAD_BYTES
    on_the_wire = figure("bytes on the wire of a text of a hundred", size, "bytes", Goal("less", 213))
    return Found(figures=(*ratios, per_delivery, on_the_wire))


def _of_bare(ours_us: Sequence[float], bare_us: Sequence[float]) -> list[float]:
    """How much of the bare library's speed is left."""
    return [bare / ours for ours, bare in zip(ours_us, bare_us, strict=True)]
