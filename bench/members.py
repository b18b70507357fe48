"""Measure what a message to a group costs in DynamoDB units and in CPU of the delivery worker.

write_units_group_50_10_online   Per message of ten in two minutes, in a group of 50. Ten members are connected, and
                                 their devices acknowledge. No message is read.
write_units_disconnect           Per device of these that disconnects afterwards: it writes the last position.
write_units_group_100_away       Per message in a group of 100 in which only the sender is connected.
worker_ms_group_100_away         CPU of the delivery worker for such a message, one at a time.
"""

import argparse
import asyncio
import time

import uvloop

from bench.e2e import Installation, Measured, Phase, installation
from bench.e2e_devices import Line, Pair, Tally
from bench.report import print_figures, print_table
from bench.whole.growth_members import create_group, serve_large_groups

_MESSAGES = 10
_WITHIN_S = 120.0
_SETTLE_S = 5.0
_PAUSE_S = 0.025
"""Between two messages of one sender. A connection may send 50 frames a second."""


async def bench(here: Installation, messages: int) -> None:
    await serve_large_groups(here)
    online, closed_units = await ten_online(here)
    away = await all_away(here, messages)
    figures = {
        "write_units_group_50_10_online": online.write_units,
        "write_units_disconnect": closed_units,
        "write_units_group_100_away": away.write_units,
        "worker_ms_group_100_away": away.cpu_us["delivery"] / 1_000,
        "read_units_group_100_away": away.read_units,
    }
    print_table(("figure", "measured"), [(name, f"{value:.2f}") for name, value in figures.items()])
    print_figures(figures)


async def ten_online(here: Installation) -> tuple[Measured, float]:
    people = [f"on-{number}" for number in range(50)]
    chat = await create_group(here, people[0], people[1:])
    lines = [
        await Line.open(here.ports[number % 2], here.env.token(user), user)
        for number, user in enumerate(people[:10])
    ]
    pair = Pair(chat, *lines[:2])
    await pair.send(Tally(), 0.0)
    await asyncio.sleep(_SETTLE_S)
    tally, phase = Tally(), Phase(here)
    began = time.perf_counter()
    for _ in range(_MESSAGES):
        await pair.send(tally, time.perf_counter())
        await asyncio.sleep(_WITHIN_S / _MESSAGES)
    online = phase.end(tally, time.perf_counter() - began)
    before = here.units("write")
    for line in lines:
        line.close()
    await asyncio.sleep(_SETTLE_S)
    return online, (here.units("write") - before) / len(lines)


async def all_away(here: Installation, messages: int) -> Measured:
    people = [f"away-{number}" for number in range(100)]
    chat = await create_group(here, people[0], people[1:])
    sender = await Line.open(here.ports[0], here.env.token(people[0]), people[0])
    pair = Pair(chat, sender, sender)
    for _ in range(messages // 2):
        await pair.acked()
        await asyncio.sleep(_PAUSE_S)
    await asyncio.sleep(_SETTLE_S)
    tally, phase = Tally(), Phase(here)
    began = time.perf_counter()
    for _ in range(messages):
        await pair.acked()
        await asyncio.sleep(_PAUSE_S)
    tally.sent = messages
    await asyncio.sleep(_SETTLE_S)
    return phase.end(tally, time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=500, help="messages to the group of offline members")
    options = parser.parse_args()
    with installation() as here:
        uvloop.run(bench(here, options.messages))


if __name__ == "__main__":
    main()
