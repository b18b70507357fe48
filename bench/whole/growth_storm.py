"""Part: so many devices connect to one gateway at once; who is sent away comes back when told."""

import uvloop
from fixtures.installation import installation
from load.storm_gateway import Wave, start, wave

from bench.whole.model import Found, Growth, figure, line
from tidings.gateway.admission import AdmissionOptions

_WHY = (
    "A storm that fits into the burst of a gateway is in at once. Of a larger one it lets devices in at a fixed rate and"
    " tells each of the others when its turn comes, so the time is the number of devices over that rate, and what one"
    " costs does not depend on how many wait beside it."
)


def storm(*, is_short: bool) -> Found:
    sizes = [100, 200, 400] if is_short else [250, 500, 1_000, 2_500, 5_000, 8_000]
    options = AdmissionOptions(max_connects_per_s=200, burst=100) if is_short else AdmissionOptions()
    with installation() as house:
        gateway = start(house, options, "picows")
        tokens = [house.token(f"user-{n}") for n in range(sizes[-1])]

        async def waves() -> list[Wave]:
            await wave(gateway, tokens[: sizes[0]], options)
            return [await wave(gateway, tokens[:size], options) for size in sizes]

        return _found(uvloop.run(waves()), len(gateway.faults()))


def _found(waves: list[Wave], faults: int) -> Found:
    lines = (
        line("until all are in", "seconds", [(float(each.clients), each.in_s) for each in waves]),
        line(
            "the longest it may take, as computed beforehand",
            "seconds",
            [(float(each.clients), each.stated_s) for each in waves],
        ),
        line(
            "the gateway's work",
            "µs of CPU a device",
            [(float(each.clients), each.cpu_us_each) for each in waves],
        ),
    )
    growth = Growth(title="A storm of devices", along="devices at once", lines=lines, why=_WHY)
    return Found(
        growths=(growth,),
        figures=(
            figure("devices of the largest storm", float(waves[-1].clients), better="more"),
            figure("all of the largest storm are in after", waves[-1].in_s, "s"),
            figure("errors that the gateway logged in storms", float(faults)),
        ),
    )
