"""Measure how the costs of a page and of a send grow with the length of a chat's log.

Costs are the CPU of the process, the CPU of the DynamoDB engine, and read and write units.
"""

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
_LINES = ("newest page", "page in the middle", "send")
_WHY = (
    "A page is one Query that starts at a sequence of the log, and a send is one put at the next sequence, which the"
    " process has cached. Neither reads earlier entries. The engine finds an item in a tree whose depth grows very"
    " slowly."
)

type Work = Callable[[], Awaitable[object]]


def history(*, is_short: bool) -> Found:
    sizes = [100, 300, 1_000] if is_short else [100, 1_000, 10_000, 100_000, 1_000_000]
    with installation() as env:

        async def grown() -> Found:
            async with env.use_cases() as use_cases:
                return await _grown(use_cases, listener(env.tables.url), sizes, 60 if is_short else 400)

        return uvloop.run(grown())


async def _grown(use_cases: UseCaseEnv, engine: int, sizes: list[int], calls: int) -> Found:
    use_cases.on_commit = lambda *_: None  # otherwise the use_cases keeps a million entries in memory
    use_cases.open_process()
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    log = _Log(use_cases, chat)
    points: dict[tuple[str, str], list[tuple[float, list[float]]]] = {}
    filled_per_s = 0.0
    for size in sizes:
        filled_per_s = await log.fill(size) or filled_per_s
        works: dict[str, Work] = {
            "newest page": log.newest,
            "page in the middle": log.middle,
            "send": log.send,
        }
        for name, work in works.items():
            for what, runs in (await _measured(use_cases, engine, work, calls)).items():
                points.setdefault((name, what), []).append((float(size), runs))
    lines = [line(name, unit, points[name, what]) for what, unit in _UNITS.items() for name in _LINES]
    growth = Growth(
        title="Length of a chat's history", along="entries in the chat", lines=tuple(lines), why=_WHY
    )
    return Found(
        growths=(growth,),
        figures=(
            figure("entries in the longest chat", log.head, better="more"),
            figure("fill rate by durable sends", filled_per_s, "per second", better="more"),
            *(_units(points, name, what) for name in _LINES for what in ("read units", "write units")),
        ),
    )


_UNITS = {"CPU": "µs of Tidings CPU", "engine": "µs of DynamoDB CPU"}


def _units(points: dict[tuple[str, str], list[tuple[float, list[float]]]], name: str, what: str) -> Figure:
    return figure(f"{what}: {name}, longest chat", points[name, what][-1][1])


class _Log:
    """One chat with its head and the operations that are measured."""

    def __init__(self, use_cases: UseCaseEnv, chat: ChatKey) -> None:
        self._use_cases, self._chat = use_cases, chat
        self.head = 1

    async def fill(self, size: int) -> float:
        """Append entries with `messages.send` until the log has `size` entries. Return the rate per second."""
        numbers, began, before = count(self.head), time.monotonic(), self.head

        async def sender() -> None:
            while next(numbers) < size:
                await self.send()

        await asyncio.gather(*(sender() for _ in range(_IN_FLIGHT)))
        return (self.head - before) / (time.monotonic() - began)

    async def send(self) -> None:
        sent = await self._use_cases.send(self._chat, ANNA, _TEXT, after=self.head)
        self.head = max(self.head, sent.sequence)

    async def newest(self) -> None:
        page = await self._use_cases.history.before(self._chat, BEN, None, _PAGE)
        if page.entries[0].entry.sequence != self.head:
            raise AssertionError(
                f"The newest page starts at {page.entries[0].entry.sequence}, expected {self.head}."
            )

    async def middle(self) -> None:
        await self._use_cases.history.before(self._chat, BEN, self.head // 2 + 1, _PAGE)


async def _measured(use_cases: UseCaseEnv, engine: int, work: Work, calls: int) -> dict[str, list[float]]:
    """Measure the costs of one call, in four runs, to show the spread."""
    found: dict[str, list[float]] = {"CPU": [], "engine": [], "read units": [], "write units": []}
    for _ in range(4):
        own, theirs, reads, writes = time.process_time(), cpu_us(engine), *_units_of(use_cases)
        for _ in range(calls // 4):
            await work()
        each = calls // 4
        found["CPU"].append((time.process_time() - own) * 1e6 / each)
        found["engine"].append((cpu_us(engine) - theirs) / each)
        read, written = _units_of(use_cases)
        found["read units"].append((read - reads) / each)
        found["write units"].append((written - writes) / each)
    return found


def _units_of(use_cases: UseCaseEnv) -> tuple[float, float]:
    counts = list(use_cases.client.ledger)
    read = sum(each.value for each in counts if each.name == "read_units")
    return read, sum(each.value for each in counts if each.name == "write_units")
