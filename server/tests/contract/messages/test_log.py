"""The contract of `MessageLog`, for the logs in memory and for DynamoDB on both engines."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fixtures.engines import Namespace
from fixtures.loops import AsyncFixture
from fixtures.memory_log import MemoryLog
from fixtures.packed_log import PackedLog
from fixtures.tables import REGION, Tables

from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.model import Draft, Entry, EntryKind, KeyRecord, Refusal
from tidings.messages.ports import COMMITTED, DuplicateKey, MessageLog, PositionTaken
from tidings.messages.store import DynamoMessageLog
from tidings.platform.dynamo.open_client import open_client


@pytest.fixture
def chat(space: Namespace) -> ChatKey:
    return ChatKey(TenantId(space.tenant), ChatId("c"))


@pytest.fixture
def other(space: Namespace) -> ChatKey:
    return ChatKey(TenantId(space.tenant), ChatId("c2"))


@asynccontextmanager
async def in_memory() -> AsyncIterator[MessageLog]:
    yield MemoryLog()


@asynccontextmanager
async def packed() -> AsyncIterator[MessageLog]:
    yield PackedLog()


@pytest.fixture(params=["memory", "packed", "local", "dynoxide"])
def log(request: pytest.FixtureRequest) -> AsyncFixture[MessageLog]:
    if request.param in {"memory", "packed"}:
        return AsyncFixture(in_memory if request.param == "memory" else packed)
    tables: Tables = request.getfixturevalue(f"tables_{request.param}")

    @asynccontextmanager
    async def in_dynamo() -> AsyncIterator[MessageLog]:
        async with open_client(tables.url, REGION, tables.prefix) as client:
            yield DynamoMessageLog(client, SystemClock())

    return AsyncFixture(in_dynamo)


def entry(sequence: int, key: str = "", content: bytes = b"hi", **more: Any) -> Entry:
    return Entry(
        sequence=sequence,
        ordinal=sequence - 1,
        kind=more.pop("kind", EntryKind.MESSAGE),
        sender=UserId("anna"),
        client_key=ClientKey(key or f"k{sequence}"),
        fingerprint=content,
        created_at_ms=1_794_700_000_123,
        content=content,
        **more,
    )


def draft(key: str) -> Draft:
    return Draft(kind=EntryKind.MESSAGE, sender=UserId("anna"), client_key=ClientKey(key), fingerprint=b"hi")


async def test_an_empty_log_has_no_newest_entry(log: MessageLog, chat: ChatKey) -> None:
    assert await log.newest(chat) is None


async def test_an_entry_is_read_back_as_it_was_written(
    log: MessageLog, chat: ChatKey, other: ChatKey
) -> None:
    whole = entry(
        1,
        kind=EntryKind.JOIN,
        content_type="text/plain",
        visible_until_ms=5,
        refers_to=1,
        emoji="x",
        name="n",
        role="owner",
        users=(UserId("ben"), UserId("cleo")),
        member_count=3,
        large=True,
        epoch=2,
    )
    assert await log.append(chat, [whole]) == COMMITTED
    assert await log.newest(chat) == whole
    assert await log.newest(other) is None


async def test_a_sequence_is_taken_once_and_a_conflict_returns_its_entry(
    log: MessageLog, chat: ChatKey
) -> None:
    await log.append(chat, [entry(1)])
    assert await log.append(chat, [entry(1, "other")]) == PositionTaken(entry(1))
    assert await log.newest(chat) == entry(1)


async def test_a_batch_is_appended_completely_or_not_at_all(log: MessageLog, chat: ChatKey) -> None:
    await log.append(chat, [entry(1)])
    assert await log.append(chat, [entry(2), entry(3), entry(4)]) == COMMITTED
    assert await log.append(chat, [entry(4, "x"), entry(5, "y")]) == PositionTaken(entry(4))
    newest = await log.newest(chat)
    assert newest is not None
    assert newest.sequence == 4


async def test_an_idempotency_key_is_taken_once_and_returns_its_sequence(
    log: MessageLog, chat: ChatKey, other: ChatKey
) -> None:
    assert await log.append(chat, [entry(1, "k")], is_keyed=True) == COMMITTED
    assert await log.append(chat, [entry(2, "k", b"other")], is_keyed=True) == DuplicateKey(
        KeyRecord(1, b"hi")
    )
    assert await log.append(other, [entry(1, "k")], is_keyed=True) == COMMITTED
    assert await log.refuse_key(chat, draft("k"), Code.NOT_A_MEMBER) == KeyRecord(1, b"hi")
    newest = await log.newest(chat)
    assert newest is not None
    assert newest.sequence == 1


async def test_a_sequence_conflict_does_not_store_the_idempotency_key(log: MessageLog, chat: ChatKey) -> None:
    await log.append(chat, [entry(1)])
    assert isinstance(await log.append(chat, [entry(1, "k")], is_keyed=True), PositionTaken)
    assert await log.append(chat, [entry(2, "k")], is_keyed=True) == COMMITTED


async def test_a_stored_refusal_rejects_later_appends_with_its_key(log: MessageLog, chat: ChatKey) -> None:
    await log.append(chat, [entry(1)])
    assert await log.refuse_key(chat, draft("k"), Code.NOT_A_MEMBER) is None
    assert await log.refuse_key(chat, draft("k"), Code.BLOCKED) == Refusal(Code.NOT_A_MEMBER)
    taken = await log.append(chat, [entry(2, "k")], is_keyed=True)
    assert taken == DuplicateKey(Refusal(Code.NOT_A_MEMBER))


async def test_reading_above_a_head_returns_all_newer_entries_in_order(
    log: MessageLog, chat: ChatKey
) -> None:
    for n in range(1, 8):
        await log.append(chat, [entry(n)])
    above, has_more = await log.follow(chat, 4)
    assert not has_more
    assert [(e.sequence, e.ordinal, e.kind, e.key, e.fingerprint) for e in above] == [
        (n, n - 1, EntryKind.MESSAGE, entry(n).key, b"hi") for n in (5, 6, 7)
    ]
    assert list((await log.follow(chat, 7)).entries) == []


async def test_keys_of_a_range_are_exactly_those_of_the_range(log: MessageLog, chat: ChatKey) -> None:
    for n in range(1, 8):
        await log.append(chat, [entry(n)])
    assert list(await log.keys(chat, 2, 5)) == [(entry(n).key, KeyRecord(n, b"hi")) for n in (3, 4, 5)]


async def test_keys_of_a_range_of_several_pages_are_complete(log: MessageLog, chat: ChatKey) -> None:
    large = b"x" * 4000
    for first in range(1, 401, 25):
        await log.append(chat, [entry(n, content=large) for n in range(first, first + 25)])
    found = await log.keys(chat, 0, 400)
    assert [seen.sequence for _, seen in found] == list(range(1, 401))


async def test_of_concurrent_appends_to_one_sequence_exactly_one_succeeds(
    log: MessageLog, chat: ChatKey
) -> None:
    outcomes = await asyncio.gather(*(log.append(chat, [entry(1, f"k{n}")]) for n in range(16)))
    assert outcomes.count(COMMITTED) == 1
    newest = await log.newest(chat)
    winners = {o.entry.key for o in outcomes if isinstance(o, PositionTaken) and o.entry is not None}
    assert newest is not None
    assert winners == {newest.key}
