"""Part: a chat's log grows. What its newest page, an old page and a send cost, to the process and to the engine."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from itertools import count

import uvloop
from fixtures.installation import installation
from fixtures.use_cases import ANNA, BEN, UseCaseEnv

from bench.whole.model import Figure, Found, Growth, figure, line
from bench.whole.using import cpu_us, listener
from tidings.kernel.ids import ChatKey

_IN_FLIGHT = 128
_PAGE = 20
_TEXT = "x" * 100
_LINES = ("the newest page", "a page in the middle", "a send")
_WHY = (
    "Pages are one Query by key that begins at its place in the log, and a send is one put at a place that the process"
    " knows, so neither looks at what is below; the engine finds the place in a tree, whose depth hardly grows."
)

type Work = Callable[[], Awaitable[object]]


def history(*, is_short: bool) -> Found:
    sizes = [100, 300, 1_000] if is_short else [100, 1_000, 10_000, 100_000, 1_000_000]
    with installation() as house:

        async def grown() -> Found:
            async with house.stage() as stage:
                return await _grown(stage, listener(house.tables.url), sizes, 60 if is_short else 400)

        return uvloop.run(grown())


async def _grown(stage: UseCaseEnv, engine: int, sizes: list[int], calls: int) -> Found:
    stage.hear = lambda *_: None  # nobody is to keep a million entries in memory
    stage.open_process()
    chat = await stage.manage.direct(stage.tenant, ANNA, BEN)
    log = _Log(stage, chat)
    points: dict[tuple[str, str], list[tuple[float, list[float]]]] = {}
    filled_per_s = 0.0
    for size in sizes:
        filled_per_s = await log.fill(size) or filled_per_s
        works: dict[str, Work] = {
            "the newest page": log.newest,
            "a page in the middle": log.middle,
            "a send": log.send,
        }
        for name, work in works.items():
            for what, runs in (await _measured(stage, engine, work, calls)).items():
                points.setdefault((name, what), []).append((float(size), runs))
    lines = [line(name, unit, points[name, what]) for what, unit in _UNITS.items() for name in _LINES]
    growth = Growth(title="History of a chat", along="entries in the chat", lines=tuple(lines), why=_WHY)
    return Found(
        growths=(growth,),
        figures=(
            figure("entries of the longest chat", log.head, better="more"),
            figure("filling it by durable sends", filled_per_s, "a second", better="more"),
            *(_units(points, name, what) for name in _LINES for what in ("read units", "write units")),
        ),
    )


_UNITS = {"CPU": "µs of our CPU", "engine": "µs of the engine's CPU"}


def _units(points: dict[tuple[str, str], list[tuple[float, list[float]]]], name: str, what: str) -> Figure:
    return figure(f"{what} of {name}, longest chat", points[name, what][-1][1])


class _Log:
    """One chat, its head, and what is done to it."""

    def __init__(self, stage: UseCaseEnv, chat: ChatKey) -> None:
        self._stage, self._chat = stage, chat
        self.head = 1

    async def fill(self, size: int) -> float:
        """Through `messages.send`, as people would; its rate."""
        numbers, began, before = count(self.head), time.monotonic(), self.head

        async def sender() -> None:
            while next(numbers) < size:
                await self.send()

        await asyncio.gather(*(sender() for _ in range(_IN_FLIGHT)))
        return (self.head - before) / (time.monotonic() - began)

    async def send(self) -> None:
        sent = await self._stage.send(self._chat, ANNA, _TEXT, after=self.head)
        self.head = max(self.head, sent.sequence)

    async def newest(self) -> None:
        page = await self._stage.history.before(self._chat, BEN, None, _PAGE)
        if page.entries[0].entry.sequence != self.head:
            raise AssertionError("this is not the newest page")

    async def middle(self) -> None:
        await self._stage.history.before(self._chat, BEN, self.head // 2 + 1, _PAGE)


async def _measured(stage: UseCaseEnv, engine: int, work: Work, calls: int) -> dict[str, list[float]]:
    """In four runs, so that there is a spread."""
    found: dict[str, list[float]] = {"CPU": [], "engine": [], "read units": [], "write units": []}
    for _ in range(4):
        own, theirs, reads, writes = time.process_time(), cpu_us(engine), *_units_of(stage)
        for _ in range(calls // 4):
            await work()
        each = calls // 4
        found["CPU"].append((time.process_time() - own) * 1e6 / each)
        found["engine"].append((cpu_us(engine) - theirs) / each)
        read, written = _units_of(stage)
        found["read units"].append((read - reads) / each)
        found["write units"].append((written - writes) / each)
    return found


def _units_of(stage: UseCaseEnv) -> tuple[float, float]:
    counts = list(stage.client.ledger)
    read = sum(each.value for each in counts if each.name == "read_units")
    return read, sum(each.value for each in counts if each.name == "write_units")
