"""Measure search: latency with 2,000 chats a user in an index of 1 million messages, delay of the index, leaks and misses.

Messages in the chats of the askers are in the tables, and each result is read and authorised from there. The other
documents of the index belong to chats of other users. Members leave and join, and messages are edited and redacted, while
users search an index that does not know it yet. Every result is compared with a model: one that the asker may not read is
a leak. After the index has caught up, a message that is not found is missed. The delay of the index is that from the
publication of a message to Kafka until a search returns it.
"""

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import uvloop
from fixtures.engines import Namespace
from fixtures.search import SearchEnv, document, open_tantivy, request, run_opensearch
from fixtures.tables import REGION
from fixtures.use_cases import ANNA, UseCaseEnv, asked, by

from bench.api_world import Place as World
from bench.api_world import engines
from bench.report import print_figures, print_table
from tidings.app.processes.search import IndexHandler
from tidings.app.wiring import engine_clients
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.history import VisibleEntry
from tidings.messages.sender import Content
from tidings.messages.store import KafkaCommitPublisher, decode_committed
from tidings.platform.dynamo.open_client import open_client
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.consumer import KafkaConsumer
from tidings.platform.kafka.partition_worker import RecordHandlers
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.schema.topics.model import MESSAGES
from tidings.search import rules
from tidings.search.model import SearchQuery
from tidings.search.ports import SearchIndex
from tidings.search.query import MessageSearch
from tidings.search.store.opensearch import OpenSearchOptions, open_opensearch

_VOCABULARY = [f"word{number}" for number in range(5_000)]
_WORDS = 8
_USERS = [UserId(f"user{number}") for number in range(5)]
_BATCH = 1_000
_RATE = 500
_AT_ONCE = 4


type Place = tuple[ChatKey, int]
"""A message: its chat and its sequence."""


@dataclass
class Model:
    """The expected state: the text of each message, and the members of each chat at its sequence."""

    rng: random.Random
    texts: dict[Place, str] = field(default_factory=dict)
    readers: dict[Place, frozenset[UserId]] = field(default_factory=dict)
    members: dict[ChatKey, set[UserId]] = field(default_factory=dict)

    chats: list[ChatKey] = field(default_factory=list)

    def random_place(self) -> Place:
        """Return a message that was neither redacted nor forgotten."""
        while True:
            chat = self.rng.choice(self.chats)
            if (place := (chat, self.rng.randrange(2, 15))) in self.texts:
                return place

    def is_match(self, query: SearchQuery, place: Place) -> bool:
        words = self.texts[place].split()
        return query.chat in (None, place[0].chat) and all(
            any(each.startswith(word.text) if word.is_prefix else each == word.text for each in words)
            for word in query.words
        )

    def text(self) -> str:
        # A part of the vocabulary is frequent, as in messages of people.
        picks = (int(len(_VOCABULARY) * self.rng.random() ** 3) for _ in range(_WORDS))
        return " ".join(_VOCABULARY[pick] for pick in picks)

    def expected(self, user: UserId, word: str) -> set[Place]:
        return {
            place
            for place, text in self.texts.items()
            if user in self.readers[place] and word in text.split()
        }


class SearchBench:
    def __init__(self, env: SearchEnv, rng: random.Random) -> None:
        self.env, self.rng, self.model = env, rng, Model(rng)
        self.leaks = self.missed = 0

    async def fill(self, chats: int, real: int, total: int) -> None:
        use_cases = self.env.use_cases
        for number in range(chats):
            chat = await use_cases.group(*_USERS)
            self.model.members[chat] = {ANNA, *_USERS}
            self.model.chats.append(chat)
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

    async def send(self, chat: ChatKey, text: str | None = None) -> None:
        text = text or self.model.text()
        place = (chat, (await self.env.use_cases.send(chat, ANNA, text)).sequence)
        self.model.texts[place], self.model.readers[place] = text, frozenset(self.model.members[chat])

    async def change(self) -> None:
        """Change a membership or a message, as another process would, without the index."""
        use_cases, model = self.env.use_cases, self.model
        chat = self.rng.choice(model.chats)
        user, place = self.rng.choice(_USERS), model.random_place()
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

    async def latencies_ms(self, service: MessageSearch[VisibleEntry], count: int) -> list[float]:
        """Search in all chats, while memberships and messages change. Return the sorted latencies."""
        found = []
        for number in range(count):
            if number % 5 == 0:
                await self.change()
            if number % 100 == 0:
                await self.env.handle()
            query = SearchQuery(words=rules.parse_query(self.rng.choice(_VOCABULARY)))
            began = time.perf_counter()
            await self.search(service, query, 20)
            found.append((time.perf_counter() - began) * 1000)
        return sorted(found)

    async def search(self, service: MessageSearch[VisibleEntry], query: SearchQuery, limit: int) -> None:
        """Search one page, and count results that the asker may not read or that do not match."""
        user = self.rng.choice(_USERS)
        page = await service.search(self.env.use_cases.tenant, user, query, limit=limit)
        for each in page.found:
            place = (each.chat, each.shown.entry.sequence)
            is_allowed = user in self.model.readers.get(place, ())
            self.leaks += not is_allowed or not self.model.is_match(query, place)

    async def count_leaks(self, count: int) -> None:
        """Make random searches: words and prefixes, in all chats or in one, of any time. The index is often stale."""
        service = self.env.make_search(chats_fresh_s=10)
        for number in range(0, count, _AT_ONCE):
            await self.change()
            if number % 400 == 0:
                await self.env.handle()
            # No change is made meanwhile, so the model is exact. The list of chats and the index are old.
            await asyncio.gather(
                *(
                    self.search(service, self.random_query(), self.rng.choice((1, 5, 20)))
                    for _ in range(_AT_ONCE)
                )
            )

    def random_query(self) -> SearchQuery:
        rng = self.rng
        words = rng.choice(_VOCABULARY)
        if rng.randrange(5) == 0:
            words += f" {rng.choice(_VOCABULARY[:50])}"
        if rng.randrange(10) == 0:
            words = words[:6] + "*"
        middle_ms = self.env.use_cases.clock.now_ms() - rng.randrange(600_000)
        return SearchQuery(
            words=rules.parse_query(words),
            chat=rng.choice(self.model.chats).chat if rng.randrange(2) else None,
            sender=None if rng.randrange(5) else ANNA,
            before_ms=None if rng.randrange(10) else middle_ms,
            after_ms=None if rng.randrange(10) else middle_ms,
        )

    async def count_missed(self, queries: int) -> None:
        """Let the index catch up, and compare all results of words with the model."""
        await self.env.handle()
        for _ in range(queries):
            user, word = self.rng.choice(_USERS), self.rng.choice(_VOCABULARY[-2_000:])
            expected, found, below = self.model.expected(user, word), set[Place](), None
            query = SearchQuery(words=rules.parse_query(word))
            while True:
                page = await self.env.service.search(
                    self.env.use_cases.tenant, user, query, limit=50, below=below
                )
                found |= {(each.chat, each.shown.entry.sequence) for each in page.found}
                if (below := page.below) is None:
                    break
            self.missed += len(expected - found)
            self.leaks += len(found - expected)

    async def lag_s(self, kafka: KafkaConfig, seconds: int) -> tuple[float, float]:
        """Publish committed messages, and return the largest delay until the index returns one, and the rate per second.

        The messages are in the log before, so that the rate does not depend on the tables.
        """
        await self.env.handle()
        for number in range(_RATE * seconds):
            await self.send(self.rng.choice(self.model.chats), f"{self.model.text()} lag{number}")
        commits = await self.env.deliver()
        publisher = KafkaPublisher(kafka)
        work = RecordHandlers(
            decode_committed, IndexHandler(self.env.indexer).handle, engine_clients.drop_undecodable
        )
        consumer = KafkaConsumer(kafka, work, group="bench-search", topics=[MESSAGES.name])
        running, publish = asyncio.create_task(consumer.run()), KafkaCommitPublisher(publisher).publish
        waiting: list[asyncio.Task[float]] = []
        # The group must have its partitions first.
        publish(*commits[0])
        await self._indexed_after_s(commits[0][0], "lag0")
        began = time.perf_counter()
        for number, (chat, entries) in enumerate(commits[1:], 1):
            publish(chat, entries)
            if number % 50 == 0:
                waiting.append(asyncio.create_task(self._indexed_after_s(chat, f"lag{number}")))
            await asyncio.sleep(max(0.0, began + number / _RATE - time.perf_counter()))
        rate = len(commits) / (time.perf_counter() - began)
        delays = await asyncio.gather(*waiting)
        consumer.stop()
        await running
        await publisher.close()
        return max(delays), rate

    async def _indexed_after_s(self, chat: ChatKey, word: str) -> float:
        began = time.perf_counter()
        asked = request(chat.tenant, word, chats=(chat.chat,), limit=1)
        while not await self.env.index.find(asked):  # noqa: ASYNC110 - another task indexes it
            await asyncio.sleep(0.05)
        return time.perf_counter() - began


@asynccontextmanager
async def opened_index(engine: str, directory: Path) -> AsyncIterator[SearchIndex]:
    if engine == "tantivy":
        async with open_tantivy(directory / "search") as index:
            yield index
        return
    with run_opensearch(directory) as url:
        async with open_opensearch(OpenSearchOptions(url=url, timeout_s=60), SystemClock()) as opened:
            yield opened


async def run(world: World, given: argparse.Namespace, directory: Path) -> dict[str, float]:
    rng = random.Random(given.seed)  # noqa: S311 - a repeatable load
    async with (
        open_client(world.endpoint, REGION, world.prefix) as client,
        opened_index(given.engine, directory) as index,
    ):
        use_cases = UseCaseEnv(client, Namespace().tenant, directory / "key")
        bench = SearchBench(SearchEnv(use_cases, index), rng)
        await _timed("fill", bench.fill(given.chats, given.real, given.messages))
        figures = await _timed("latency", latencies(bench, given.timed))
        sys.stderr.write(f"{figures}\n")  # Long before the end: the next phase takes most of the time.
        await _timed("leaks", bench.count_leaks(given.queries))
        sys.stderr.write(f"leaks: {bench.leaks} in {given.queries} searches\n")
        await _timed("missed", bench.count_missed(given.timed // 10))
        kafka = KafkaConfig(bootstrap_servers=world.kafka, topic_prefix=world.space.topic_prefix)
        lag_s, rate = await _timed("lag", bench.lag_s(kafka, given.seconds))
        if not given.short and rate < _RATE * 0.95:
            raise RuntimeError(f"{rate:.0f} messages a second were published, not {_RATE}")
        return {**figures, "index_lag_s": lag_s, "leaks": bench.leaks, "missed": bench.missed}


async def latencies(bench: SearchBench, count: int) -> dict[str, float]:
    """Measure first searches of users, and those soon after another one."""
    first = await bench.latencies_ms(bench.env.service, count)
    next_ones = await bench.latencies_ms(bench.env.make_search(chats_fresh_s=10), count)
    return {
        "p50_ms": statistics.median(first),
        "p99_ms": first[int(len(first) * 0.99)],
        "next_p50_ms": statistics.median(next_ones),
        "next_p99_ms": next_ones[int(len(next_ones) * 0.99)],
    }


async def _timed[T](name: str, work: Awaitable[T]) -> T:
    began = time.perf_counter()
    result = await work
    sys.stderr.write(f"{name}: {time.perf_counter() - began:.0f} s\n")
    return result


def parse(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=("tantivy", "opensearch"), default="tantivy")
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--real", type=int, default=20_000, help="messages in the chats of the askers")
    parser.add_argument("--chats", type=int, default=2_000)
    parser.add_argument("--timed", type=int, default=2_000, help="searches whose latency is measured")
    parser.add_argument("--queries", type=int, default=100_000, help="searches that are checked for leaks")
    parser.add_argument("--seconds", type=int, default=10, help="how long to measure the delay")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--short", action="store_true", help="some seconds, for tests")
    given = parser.parse_args(words)
    if given.short:
        given.messages, given.real, given.chats, given.seconds = 5_000, 400, 20, 1
        given.timed, given.queries = 100, 400
    return given


def main() -> None:
    given = parse()
    with tempfile.TemporaryDirectory() as directory, engines("dynoxide") as (world, _):
        figures = uvloop.run(run(world, given, Path(directory)))
    print_table(("figure", "value"), [(name, f"{value:.2f}") for name, value in figures.items()])
    print_figures(figures)


if __name__ == "__main__":
    main()
