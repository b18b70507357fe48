"""The change stream of `messages` as the relay reads it, on both engines. A script simulates faults that no engine can produce.

Also run on the simulated stream.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

import pytest
from fixtures.encoded_sizes import item_bytes
from fixtures.engines import Namespace
from fixtures.loops import AsyncFixture
from fixtures.scripted_streams import ScriptedStreams
from fixtures.tables import REGION, Tables
from fixtures.use_cases import ANNA, BEN, UseCaseEnv, asked
from msgspec.structs import replace

from tidings.kernel.errors import UnavailableError
from tidings.kernel.ids import ChatKey
from tidings.messages.sender import Content
from tidings.messages.store.imports import DynamoImportLog
from tidings.platform.dynamo.codec import encode_item
from tidings.platform.dynamo.open_client import open_client, open_streams
from tidings.platform.dynamo.requests import Query
from tidings.relay.model import (
    ChangeStream,
    EntryCommitted,
    ShardId,
    ShardRecord,
    StreamIteratorExpiredError,
    TrimmedError,
)
from tidings.relay.rules import LogSizeEstimator
from tidings.relay.store import DynamoChangeStream
from tidings.schema.tables.items.chats import chat_key
from tidings.schema.tables.patterns import messages as patterns

PAGE = 3
WITHIN_S = 60


class Place(NamedTuple):
    """Position in one shard."""

    shard: ShardId
    after: str | None


class FeedEnv(NamedTuple):
    """A stream, a writer of its table, and the end of the stream when the test started."""

    feed: ChangeStream
    use_cases: UseCaseEnv
    begins: Place


class Script(Protocol):
    """A stream that can fail in every way."""

    @property
    def feed(self) -> ChangeStream: ...

    def put(self, sequence: int) -> None: ...

    def trim(self, count: int) -> None:
        """Trim this number of the oldest records."""
        ...

    def expire_iterators(self) -> None: ...

    def refuse_one(self) -> None:
        """Throttle the next call."""
        ...


async def place_of(feed: ChangeStream) -> Place:
    """Return the only shard of the local engines."""
    (shard,) = await feed.shards()
    return Place(shard.id, None)


async def read_on(feed: ChangeStream, place: Place) -> list[ShardRecord]:
    """Read up to the first empty page."""
    iterator: str | None = await feed.iterator(*place)
    found: list[ShardRecord] = []
    while iterator is not None:
        page = await feed.page(iterator)
        if not page.records:
            break
        found += page.records
        iterator = page.iterator
    return found


async def records_up_to(feed_env: FeedEnv, chat: ChatKey, last: int) -> list[ShardRecord]:
    """Return all records since the start of the test, once the stream has this entry."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            found = await read_on(feed_env.feed, feed_env.begins)
            if last in sequences(found, chat):
                return found
            await asyncio.sleep(0.05)


def sequences(records: Sequence[ShardRecord], chat: ChatKey) -> list[int]:
    changes = [each.changes for each in records]
    return [each.sequence for each in changes if isinstance(each, EntryCommitted) and each.chat == chat]


@pytest.fixture
def feed_env(tables: Tables, space: Namespace, tmp_path: Path) -> AsyncFixture[FeedEnv]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[FeedEnv]:
        async with (
            open_client(tables.url, REGION, tables.prefix) as client,
            open_streams(tables.url, REGION, tables.prefix) as streams,
        ):
            place = await place_of(whole_pages := DynamoChangeStream(streams))
            before = await read_on(whole_pages, place)
            feed = DynamoChangeStream(streams, page_records=PAGE)
            await feed.shards()
            use_cases = UseCaseEnv(client, space.tenant, tmp_path / "key")
            yield FeedEnv(feed, use_cases, place._replace(after=before[-1].number if before else None))

    return AsyncFixture(opened)


class Scripted:
    def __init__(self) -> None:
        self._streams = ScriptedStreams()
        self._streams.open("s")
        self.feed: ChangeStream = DynamoChangeStream(self._streams, page_records=PAGE)
        self.expire_iterators = self._streams.expire_iterators

    def put(self, sequence: int) -> None:
        self._streams.put("s", "a", sequence)

    def trim(self, count: int) -> None:
        self._streams.trim("s", count)

    def refuse_one(self) -> None:
        self._streams.throttles = 1


@pytest.fixture
def script() -> Script:
    return Scripted()


async def test_new_entries_are_in_the_stream_once_and_in_the_order_of_their_commits(
    feed_env: FeedEnv,
) -> None:
    one, other = [await feed_env.use_cases.group(BEN) for _ in range(2)]
    for number in range(6):
        await feed_env.use_cases.send(one, ANNA, f"{number}")
        await feed_env.use_cases.send(other, ANNA, f"{number}")
    found = await records_up_to(feed_env, other, 7)
    assert [sequences(found, chat) for chat in (one, other)] == [[*range(1, 8)]] * 2


async def test_a_change_of_an_entry_is_no_commit(feed_env: FeedEnv) -> None:
    """The change has an entry of its own, which is a commit."""
    chat = await feed_env.use_cases.group(BEN)
    await feed_env.use_cases.send(chat, ANNA, "two")
    await feed_env.use_cases.change.edit(asked(chat, ANNA, 2), Content(text="two, edited"))
    await feed_env.use_cases.change.redact(asked(chat, ANNA, 2))
    found = await records_up_to(feed_env, chat, 4)
    assert sequences(found, chat) == [1, 2, 3, 4]
    assert [each.changes for each in found if each.changes is None] != []


async def test_an_imported_entry_is_no_commit(feed_env: FeedEnv) -> None:
    """It must not be delivered: a device would receive messages of past years."""
    use_cases = feed_env.use_cases
    chat = await use_cases.group(BEN)
    first = await use_cases.reader.one(chat, 1)
    assert first is not None
    imports = DynamoImportLog(use_cases.client, use_cases.log)
    await imports.write(chat, [replace(first, sequence=2), replace(first, sequence=3)], ())
    use_cases.open_process()
    await use_cases.send(chat, ANNA, "live", after=3)
    assert sequences(await records_up_to(feed_env, chat, 4), chat) == [1, 4]


async def test_the_size_of_a_log_is_estimated_from_the_stream(feed_env: FeedEnv) -> None:
    """Compared with the items: at most twice as much, since a record counts its keys twice."""
    chat = await feed_env.use_cases.group(BEN)
    for number in range(10):
        await feed_env.use_cases.send(chat, ANNA, "x" * 100 * (number + 1))
    sizes = LogSizeEstimator()
    sizes.add([each for each in await records_up_to(feed_env, chat, 11) if sequences([each], chat)])
    query = Query(condition="chat_id = :c", values={":c": chat_key(chat)})
    items = (await feed_env.use_cases.client.query(patterns.FOLLOW, query)).items
    stored = sum(item_bytes(json.loads(encode_item(item))) for item in items)
    assert len(items) == 11
    assert stored / 2 <= sizes.largest_bytes <= 2 * stored


async def test_reading_can_continue_after_any_record(feed_env: FeedEnv) -> None:
    chat = await feed_env.use_cases.group(BEN)
    for number in range(5):
        await feed_env.use_cases.send(chat, ANNA, f"{number}")
    found = await records_up_to(feed_env, chat, 6)
    assert len({each.number for each in found}) == len(found)
    for number, each in enumerate(found):
        rest = await read_on(feed_env.feed, feed_env.begins._replace(after=each.number))
        assert rest[: len(found) - number - 1] == found[number + 1 :]


async def test_a_page_can_be_read_again(feed_env: FeedEnv) -> None:
    chat = await feed_env.use_cases.group(BEN)
    for number in range(4):
        await feed_env.use_cases.send(chat, ANNA, f"{number}")
    await records_up_to(feed_env, chat, 5)
    iterator = await feed_env.feed.iterator(*feed_env.begins)
    first, again = await feed_env.feed.page(iterator), await feed_env.feed.page(iterator)
    assert first.records == again.records
    assert 0 < len(first.records) <= PAGE


async def test_an_empty_page_is_not_the_last(feed_env: FeedEnv) -> None:
    chat = await feed_env.use_cases.group(BEN)
    *_, last = await records_up_to(feed_env, chat, 1)
    page = await feed_env.feed.page(await feed_env.feed.iterator(feed_env.begins.shard, last.number))
    assert page.records == []
    await feed_env.use_cases.send(chat, ANNA, "two")
    async with asyncio.timeout(WITHIN_S):
        while not page.records:
            assert page.iterator is not None
            page = await feed_env.feed.page(page.iterator)
    assert sequences(page.records, chat) == [2]


async def test_trimmed_records_are_reported_and_the_oldest_record_can_be_read(
    script: Script,
) -> None:
    for sequence in range(1, 7):
        script.put(sequence)
    place = await place_of(script.feed)
    numbers = [each.number for each in await read_on(script.feed, place)]
    iterator = await script.feed.iterator(place.shard, numbers[0])
    script.trim(4)
    with pytest.raises(TrimmedError):
        await script.feed.page(iterator)
    with pytest.raises(TrimmedError):
        await script.feed.iterator(place.shard, numbers[1])
    assert [each.number for each in await read_on(script.feed, place)] == numbers[4:]


async def test_an_expired_iterator_is_replaced_at_the_same_position(script: Script) -> None:
    for sequence in range(1, 6):
        script.put(sequence)
    place = await place_of(script.feed)
    page = await script.feed.page(await script.feed.iterator(*place))
    script.expire_iterators()
    assert page.iterator is not None
    with pytest.raises(StreamIteratorExpiredError):
        await script.feed.page(page.iterator)
    rest = await read_on(script.feed, place._replace(after=page.records[-1].number))
    assert [each.changes.sequence for each in rest if isinstance(each.changes, EntryCommitted)] == [4, 5]


async def test_a_throttled_read_raises_unavailable(script: Script) -> None:
    script.put(1)
    place = await place_of(script.feed)
    iterator = await script.feed.iterator(*place)
    script.refuse_one()
    with pytest.raises(UnavailableError):
        await script.feed.page(iterator)
    assert len((await script.feed.page(iterator)).records) == 1
