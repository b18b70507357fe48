"""Measure search: latency with 2,000 chats a user in an index of 1 million messages, delay of the index, leaks and misses.

Messages in the chats of the askers are in the tables, and each result is read and authorised from there. The other
documents of the index belong to chats of other users. Members leave and join, and messages are edited and redacted, while
users search an index that does not know it yet. Every result is compared with a model: one that the asker may not read is
a leak. After the index has caught up, a message that is not found is missed.
"""

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import uvloop
from fixtures.engines import Namespace
from fixtures.search import SearchEnv, document, open_tantivy
from fixtures.tables import REGION
from fixtures.use_cases import ANNA, UseCaseEnv, asked, by

from bench.api_world import Place, engines
from bench.report import print_figures, print_table
from tidings.engines import opensearch
from tidings.engines.jars import default_cache
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.sender import Content
from tidings.platform.dynamo.open_client import open_client
from tidings.search import rules
from tidings.search.model import SearchQuery
from tidings.search.ports import SearchIndex
from tidings.search.store.opensearch import OpenSearchOptions, open_opensearch

_VOCABULARY = [f"word{number}" for number in range(5_000)]
_WORDS = 8
_USERS = [UserId(f"user{number}") for number in range(5)]
_BATCH = 1_000
_RATE = 500


@dataclass
class Model:
    """The expected state: the text of each message, and the members of each chat at its sequence."""

    rng: random.Random
    texts: dict[tuple[ChatKey, int], str] = field(default_factory=dict)
    readers: dict[tuple[ChatKey, int], frozenset[UserId]] = field(default_factory=dict)
    members: dict[ChatKey, set[UserId]] = field(default_factory=dict)

    def text(self) -> str:
        # A part of the vocabulary is frequent, as in messages of people.
        picks = (int(len(_VOCABULARY) * self.rng.random() ** 3) for _ in range(_WORDS))
        return " ".join(_VOCABULARY[pick] for pick in picks)

    def expected(self, user: UserId, word: str) -> set[tuple[ChatKey, int]]:
        return {
            place
            for place, text in self.texts.items()
            if user in self.readers[place] and word in text.split()
        }


class SearchBench:
    def __init__(self, env: SearchEnv, rng: random.Random) -> None:
        self.env, self.rng, self.model = env, rng, Model(rng)
        self.latencies_ms: list[float] = []
        self.leaks = self.missed = 0

    async def fill(self, chats: int, real: int, total: int) -> None:
        use_cases = self.env.use_cases
        for number in range(chats):
            chat = await use_cases.group(*_USERS)
            self.model.members[chat] = {ANNA, *_USERS}
            for _ in range(real // chats):
                await self.send(chat)
            if number % 50 == 0:
                await self.env.handle()
        await self.env.handle()
        for start in range(real, total, _BATCH):
            await self.env.index.apply(
                [
                    document(
                        use_cases.tenant,
                        number,
                        self.model.text(),
                        chat=f"other{number % 50_000}",
                        at_ms=number,
                    )
                    for number in range(start, min(start + _BATCH, total))
                ]
            )
        await self.env.index.refresh()

    async def send(self, chat: ChatKey) -> None:
        text = self.model.text()
        place = (chat, (await self.env.use_cases.send(chat, ANNA, text)).sequence)
        self.model.texts[place], self.model.readers[place] = text, frozenset(self.model.members[chat])

    async def change(self) -> None:
        """Change a membership or a message, as another process would, without the index."""
        use_cases, model = self.env.use_cases, self.model
        chat = self.rng.choice(list(model.members))
        user, place = self.rng.choice(_USERS), self.rng.choice(list(model.texts))
        match self.rng.randrange(4):
            case 0 if user in model.members[chat]:
                await use_cases.manage.remove(chat, by(ANNA), user)
                model.members[chat].discard(user)
            case 0 | 1 if user not in model.members[chat]:
                await use_cases.commands.add(chat, by(ANNA), [user])
                model.members[chat].add(user)
            case 2:
                text = model.text()
                await use_cases.change.edit(asked(place[0], ANNA, place[1]), Content(text=text))
                model.texts[place] = text
            case 3:
                await use_cases.change.redact(asked(place[0], ANNA, place[1]))
                del model.texts[place], model.readers[place]
            case _:
                await self.send(chat)

    async def search(self, word: str) -> None:
        """Search one page, and count results that the asker may not read or that do not match."""
        user = self.rng.choice(_USERS)
        began = time.perf_counter()
        query = SearchQuery(words=rules.parse_query(word))
        page = await self.env.service.search(self.env.use_cases.tenant, user, query)
        self.latencies_ms.append((time.perf_counter() - began) * 1000)
        for each in page.found:
            place = (each.chat, each.shown.entry.sequence)
            is_allowed = user in self.model.readers.get(place, ())
            self.leaks += not is_allowed or word not in self.model.texts[place].split()

    async def count_missed(self, queries: int) -> None:
        await self.env.handle()
        for _ in range(queries):
            user, word = self.rng.choice(_USERS), self.rng.choice(_VOCABULARY[-2_000:])
            expected = self.model.expected(user, word)
            texts = await self.env.found(user, word, limit=50)
            self.missed += max(0, len(expected) - len(texts))
            self.leaks += max(0, len(texts) - len(expected))

    async def lag_s(self, seconds: int) -> float:
        """Send at a fixed rate, and return the largest delay from a commit until the index returns it."""
        delays: list[float] = []
        chats = list(self.model.members)
        for _ in range(seconds * 5):
            began = time.perf_counter()
            for _ in range(_RATE // 5):
                await self.send(self.rng.choice(chats))
            sent = self.env.stats.indexed
            await self.env.indexer.handle(await self.env.deliver())
            if self.env.stats.indexed == sent:
                raise RuntimeError("nothing was indexed")
            await self.env.index.refresh()
            delays.append(time.perf_counter() - began)
            await asyncio.sleep(max(0.0, 0.2 - delays[-1]))
        return max(delays)


@asynccontextmanager
async def opened_index(engine: str, directory: Path) -> AsyncIterator[SearchIndex]:
    if engine == "tantivy":
        async with open_tantivy(directory / "search") as index:
            yield index
        return
    with opensearch.run_opensearch(directory, default_cache()) as url:
        async with open_opensearch(OpenSearchOptions(url=url, timeout_s=60), SystemClock()) as opened:
            yield opened


async def run(place: Place, given: argparse.Namespace, directory: Path) -> dict[str, float]:
    rng = random.Random(given.seed)  # noqa: S311 - a repeatable load
    async with (
        open_client(place.endpoint, REGION, place.prefix) as client,
        opened_index(given.engine, directory) as index,
    ):
        use_cases = UseCaseEnv(client, Namespace().tenant, directory / "key")
        bench = SearchBench(SearchEnv(use_cases, index), rng)
        await bench.fill(given.chats, given.real, given.messages)
        for number in range(given.queries):
            if number % 5 == 0:
                await bench.change()
            if number % 100 == 0:
                await bench.env.handle()
            await bench.search(rng.choice(_VOCABULARY))
        await bench.count_missed(given.queries // 20)
        latencies = sorted(bench.latencies_ms)
        return {
            "p50_ms": statistics.median(latencies),
            "p99_ms": latencies[int(len(latencies) * 0.99)],
            "index_lag_s": await bench.lag_s(given.seconds),
            "leaks": bench.leaks,
            "missed": bench.missed,
        }


def parse(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=("tantivy", "opensearch"), default="tantivy")
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--real", type=int, default=20_000, help="messages in the chats of the askers")
    parser.add_argument("--chats", type=int, default=2_000)
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=10, help="how long to measure the delay")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--short", action="store_true", help="some seconds, for tests")
    given = parser.parse_args(words)
    if given.short:
        given.messages, given.real, given.chats, given.queries, given.seconds = 5_000, 400, 20, 200, 1
    return given


def main() -> None:
    given = parse()
    with tempfile.TemporaryDirectory() as directory, engines("dynoxide") as (place, _):
        figures = uvloop.run(run(place, given, Path(directory)))
    print_table(("figure", "value"), [(name, f"{value:.2f}") for name, value in figures.items()])
    print_figures(figures)


if __name__ == "__main__":
    main()
