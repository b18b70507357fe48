"""Measure a reconnect storm: many devices connect to one gateway at the same time.

A device that is rejected connects again after the delay that the gateway states.
"""

import uvloop
from fixtures.installation import installation
from load.storm_gateway import Wave, start, wave

from bench.whole.model import Found, Growth, figure, line
from tidings.gateway.admission import AdmissionOptions

_WHY = (
    "A gateway accepts a burst of devices immediately and further devices at a fixed rate. It rejects the others with the"
    " delay after which to try again. The total time is therefore the number of devices divided by the rate, and the cost"
    " per device does not depend on the number of waiting devices."
)


def storm(*, is_short: bool) -> Found:
    sizes = [100, 200, 400] if is_short else [250, 500, 1_000, 2_500, 5_000, 8_000]
    options = AdmissionOptions(max_connects_per_s=200, burst=100) if is_short else AdmissionOptions()
    with installation() as env:
        gateway = start(env, options, "picows")
        tokens = [env.token(f"user-{n}") for n in range(sizes[-1])]

        async def waves() -> list[Wave]:
            await wave(gateway, tokens[: sizes[0]], options)
            return [await wave(gateway, tokens[:size], options) for size in sizes]

        return _found(uvloop.run(waves()), len(gateway.faults()))


def _found(waves: list[Wave], faults: int) -> Found:
    lines = (
        line(
            "time until all devices are connected",
            "seconds",
            [(float(each.clients), each.in_s) for each in waves],
        ),
        line(
            "upper bound, computed in advance",
            "seconds",
            [(float(each.clients), each.stated_s) for each in waves],
        ),
        line(
            "gateway CPU",
            "µs of CPU per device",
            [(float(each.clients), each.cpu_us_each) for each in waves],
        ),
    )
    growth = Growth(
        title="Reconnect storm", along="devices that connect at the same time", lines=lines, why=_WHY
    )
    return Found(
        growths=(growth,),
        figures=(
            figure("devices in the largest storm", float(waves[-1].clients), better="more"),
            figure("time until all devices of the largest storm are connected", waves[-1].in_s, "s"),
            figure("errors logged by the gateway during storms", float(faults)),
        ),
    )
