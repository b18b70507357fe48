"""Part: from a send to its delivery, over two gateways, a worker and a relay. First the peak, then half of it, twice."""

import uvloop

from bench.e2e import Installation, Measured, installation, pairs_of, peak, resumes, steady
from bench.whole.latency import at_ms, latency
from bench.whole.model import Figure, Found, Goal, Latency, Share, Shares, figure

_WARM_S = 3.0


def deliver(*, is_short: bool) -> Found:
    seconds, pairs = (2.0, 8) if is_short else (25.0, 50)
    with installation() as here:
        return uvloop.run(_delivered(here, seconds, pairs))


async def _delivered(here: Installation, seconds: float, count: int) -> Found:
    pairs = await pairs_of(here, count)
    await peak(here, pairs, _WARM_S)
    full = await peak(here, pairs, seconds)
    half_per_s = full.tally.delivered / full.took_s / 2
    calm, again = [await steady(here, pairs, half_per_s, seconds) for _ in range(2)]
    resume_us = await resumes(here, pairs)
    late = [
        latency("half of the peak, first run", calm.tally.late_s),
        latency("half of the peak, the same again", again.tally.late_s),
    ]
    figures = (
        *_timed(late),
        figure(
            "messages at peak, closed loop", full.tally.delivered / full.took_s, "a second", better="more"
        ),
        figure("messages at half of the peak, open loop", half_per_s, "a second", better="more"),
        *_costs(full, calm, again),
        figure(
            "CPU of a gateway to connect a device and give it what it missed",
            resume_us,
            "µs",
            Goal("less", 1500, _RESUME_LIMIT),
        ),
        _count("lost", sum(m.tally.sent - m.tally.delivered for m in (full, calm, again))),
        _count("doubled", sum(m.tally.doubled for m in (full, calm, again))),
    )
    bars = {"at peak": full, "at half of it": calm, "the same again": again}
    shares = Shares(
        title="CPU of a direct message, by process",
        unit="µs of CPU per message",
        about=_WHOSE,
        shares=tuple(share for of, measured in bars.items() for share in _shares(of, measured)),
    )
    return Found(figures=figures, latencies=tuple(late), shares=(shares,), remarks=_REMARKS)


def _timed(late: list[Latency]) -> list[Figure]:
    """Both runs are one figure: what is between them is the noise."""
    return [
        figure(f"send to deliver at half of the peak, {name}", [at_ms(each, share) for each in late], "ms")
        for name, share in (("p50", 50.0), ("p99", 99.0), ("p99.9", 99.9))
    ]


def _costs(full: Measured, calm: Measured, again: Measured) -> list[Figure]:
    noise = [calm.ours_us / again.ours_us, again.ours_us / calm.ours_us]
    at_half = [calm.ours_us, again.ours_us]
    return [
        figure(
            "CPU of a direct message over all our processes, at peak",
            full.ours_us,
            "µs",
            Goal("less", 870, _CPU_LIMIT),
        ),
        figure("CPU of a direct message over all our processes, at half", at_half, "µs", noise=noise),
        figure("loader's own CPU, at half", [calm.loader_us, again.loader_us], "µs per message"),
        figure(
            "write units of a delivered message, at half",
            [calm.write_units, again.write_units],
            "",
            Goal("less", 4),
        ),
        figure("read units of a delivered message, at half", [calm.read_units, again.read_units]),
        figure("write units of a delivered message, at peak", full.write_units),
    ]


def _count(what: str, many: int) -> Figure:
    return figure(f"messages {what}", float(many), "", Goal("less", 0))


def _shares(of: str, measured: Measured) -> list[Share]:
    everyone = {**measured.cpu_us, **measured.engines_us, "loader": measured.loader_us}
    return [Share(of, name, value) for name, value in everyone.items()]


_WHOSE = (
    "Gateways, delivery and relay are Tidings, the loader is the load; dynamo, valkey and kafka are engines that stand in"
    " for DynamoDB, Redis and Kafka on one machine. At half of the peak less is done at a time, so each message pays for"
    " more wake-ups."
)
_CPU_LIMIT = (
    "Python's own work in many small steps, none of which stands out: in the worker the two rows that a message writes,"
    " in a gateway the limits asked for each frame and the acks of what was delivered."
)
_RESUME_LIMIT = "the reads of a user's rows and of each chat with something new, and encoding every missed message for one device."
_REMARKS = (
    "Open loop: a message is late from when it was due, not from when the loader came to send it.",
    "At peak each pair sends its next message when the last one came. Ours, engines and loader share the cores.",
)
