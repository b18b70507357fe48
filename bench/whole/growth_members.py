"""Part: a group grows. What one message to it costs our processes, with a sender and one receiver connected.

All others are away, so that what is seen is the cost of having them, and not of pushing to them.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import uvloop
from fixtures.use_cases import by

from bench.e2e import Installation, Measured, Phase, installation
from bench.e2e_devices import Line, Pair, Tally
from bench.whole.model import Found, Growth, figure, line
from tidings.chats.commands import ChatCommands
from tidings.kernel.ids import UserId

_HANDLED_WITHIN_S = 240.0
_MOST = 20_000
_WHY = (
    "Up to a hundred members each one's row is written, and a queue entry for each who is away; above, a message is"
    " one row of the chat and one publication on its channel, so the work does not grow with members. Nearly all members"
    " are away here: what is seen is the cost of having them, and not of pushing to them."
)


@dataclass
class _Points:
    """By what is counted, a value for each size."""

    cpu: dict[str, list[tuple[float, float]]]
    units: list[tuple[float, float]]
    late: list[tuple[float, float]]


def members(*, is_short: bool) -> Found:
    sizes = [2, 20, 120] if is_short else [2, 10, 30, 100, 300, 1_000, 3_000, 10_000]
    with installation() as here:
        return uvloop.run(_grown(here, sizes, 10 if is_short else 100))


async def _grown(here: Installation, sizes: list[int], messages: int) -> Found:
    points = _Points({}, [], [])
    for size in sizes:
        pair = await _pair(here, size)
        await _sent(here, pair, messages // 2)
        measured = await _sent(here, pair, messages)
        _note(points, float(size), measured)
        pair.sender.close()
        pair.receiver.close()
    lines = [line(name, "µs of CPU a message", some) for name, some in points.cpu.items()]
    lines.append(line("writes of a message", "write units", points.units))
    lines.append(line("send to deliver, p50", "ms", points.late))
    growth = Growth(title="Members of a group", along="members", lines=tuple(lines), why=_WHY)
    largest = figure("members of the largest group", float(sizes[-1]), better="more")
    return Found(growths=(growth,), figures=(largest,))


def _note(points: _Points, size: float, measured: Measured) -> None:
    gateways = sum(us for name, us in measured.cpu_us.items() if name.startswith("gateway"))
    costs = {
        "delivery worker": measured.cpu_us["delivery"],
        "both gateways": gateways,
        "DynamoDB's engine": measured.engines_us["dynamo"],
    }
    for name, us in costs.items():
        points.cpu.setdefault(name, []).append((size, us))
    points.units.append((size, measured.write_units))
    points.late.append((size, measured.tally.percentile_ms(0.5)))


async def _pair(here: Installation, size: int) -> Pair:
    return await gathered(here, [f"g{size}-{n}" for n in range(size)])


async def gathered(here: Installation, people: Sequence[str]) -> Pair:
    """Their group; its owner and its first member are there, and the worker has handled its making."""
    owner, *others = map(UserId, people)
    async with here.city.stage() as stage:
        manage = ChatCommands(stage.rows, stage.appends, max_members=_MOST)
        chat = (await manage.group(stage.tenant, by(owner), "many", others)).chat
    lines = [
        await Line.open(port, here.city.token(user), user)
        for port, user in zip(here.ports, (owner, others[0]), strict=True)
    ]
    pair = Pair(chat, *lines)
    async with asyncio.timeout(_HANDLED_WITHIN_S):
        await pair.send(Tally(), asyncio.get_running_loop().time())
    return pair


async def _sent(here: Installation, pair: Pair, messages: int) -> Measured:
    """One after the other: the next one when the last one came."""
    loop, tally, phase = asyncio.get_running_loop(), Tally(), Phase(here)
    began = loop.time()
    for _ in range(messages):
        await pair.send(tally, loop.time())
    return phase.end(tally, loop.time() - began)
