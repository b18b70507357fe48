"""Measure the path from send to delivery through two gateways, a delivery worker and a relay.

The first run finds the peak rate; two further runs send at half of it.
"""

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
        latency("half of the peak, second run", again.tally.late_s),
    ]
    figures = (
        *_timed(late),
        figure(
            "direct messages at peak, closed loop",
            full.tally.delivered / full.took_s,
            "per second",
            better="more",
        ),
        figure("direct messages at half of the peak, open loop", half_per_s, "per second", better="more"),
        *_costs(full, calm, again),
        figure(
            "gateway CPU to connect a device and send its missed messages",
            resume_us,
            "µs",
            Goal("less", 1500, _RESUME_LIMIT),
        ),
        _count("lost messages", sum(m.tally.sent - m.tally.delivered for m in (full, calm, again))),
        _count("duplicate messages", sum(m.tally.doubled for m in (full, calm, again))),
    )
    bars = {"peak": full, "half of the peak": calm, "half of the peak, again": again}
    shares = Shares(
        title="CPU per direct message, by process",
        unit="µs of CPU per message",
        about=_WHOSE,
        shares=tuple(share for of, measured in bars.items() for share in _shares(of, measured)),
    )
    return Found(figures=figures, latencies=tuple(late), shares=(shares,), remarks=_REMARKS)


def _timed(late: list[Latency]) -> list[Figure]:
    """Report both runs in one figure: the difference between them is noise."""
    return [
        figure(
            f"send to delivery at half of the peak rate, {name}", [at_ms(each, share) for each in late], "ms"
        )
        for name, share in (("p50", 50.0), ("p99", 99.0), ("p99.9", 99.9))
    ]


def _costs(full: Measured, calm: Measured, again: Measured) -> list[Figure]:
    noise = [calm.ours_us / again.ours_us, again.ours_us / calm.ours_us]
    at_half = [calm.ours_us, again.ours_us]
    return [
        figure(
            "CPU per direct message in all Tidings processes, at peak",
            full.ours_us,
            "µs",
            Goal("less", 870, _CPU_LIMIT),
        ),
        figure(
            "CPU per direct message in all Tidings processes, at half of the peak", at_half, "µs", noise=noise
        ),
        figure(
            "load generator CPU, at half of the peak", [calm.loader_us, again.loader_us], "µs per message"
        ),
        figure(
            "write units per delivered message, at half of the peak",
            [calm.write_units, again.write_units],
            "",
            Goal("less", 4),
        ),
        figure("read units per delivered message, at half of the peak", [calm.read_units, again.read_units]),
        figure("write units per delivered message, at peak", full.write_units),
    ]


def _count(name: str, count: int) -> Figure:
    return figure(name, float(count), "", Goal("less", 0))


def _shares(of: str, measured: Measured) -> list[Share]:
    everyone = {**measured.cpu_us, **measured.engines_us, "load generator": measured.loader_us}
    return [Share(of, name, value) for name, value in everyone.items()]


_WHOSE = (
    "The gateways, delivery and relay are processes of Tidings. dynamo, valkey and kafka are local engines for the APIs of"
    " DynamoDB, Redis and Kafka. The load generator runs on the same machine. At half of the peak, batches are smaller, so"
    " each message pays for more wake-ups."
)
_CPU_LIMIT = (
    "the work is spread over many small steps in Python, and no single one dominates. In the delivery worker these are"
    " the two chat rows that a message writes; in the gateway, the rate limits of each frame and the acknowledgements of"
    " delivered messages."
)
_RESUME_LIMIT = (
    "the gateway reads the user's chat rows and each chat with new entries, and encodes every missed message for this one"
    " device."
)
_REMARKS = (
    (
        "At half of the peak, the load is an open loop: latency counts from the time at which a message was due, so a stalled"
        " load generator does not hide delays."
    ),
    "At peak, the load is a closed loop: each pair of users sends its next message when the previous one was delivered.",
)
