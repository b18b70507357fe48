"""Batches that DynamoDB processes in part: the client repeats the rest, and reports items that were never processed."""

import json
from dataclasses import replace
from typing import Any

import pytest

from faults.dynamo_calls import BATCH_GET, BATCH_WRITE, QUICK, TABLE, channel_of, quick_client, run
from faults.hostile_server import Line, Request, Step, answer, hostile_server, refuse, say_and_close
from tidings.platform.dynamo import errors

PHYSICAL = f"test-{TABLE}"
KB = 1024


def get_some(done: int) -> Step:
    """Return a step that answers the first keys, each with itself, and leaves the rest unprocessed."""

    async def step(line: Line, request: Request) -> None:
        asked = request.json["RequestItems"][PHYSICAL]
        keys = asked["Keys"]
        rest = {PHYSICAL: asked | {"Keys": keys[done:]}} if keys[done:] else {}
        body = {"Responses": {PHYSICAL: keys[:done]}, "UnprocessedKeys": rest}
        await line.say(answer(json.dumps(body).encode()))

    return step


def write_some(done: int) -> Step:
    async def step(line: Line, request: Request) -> None:
        writes = request.json["RequestItems"][PHYSICAL]
        rest = {PHYSICAL: writes[done:]} if writes[done:] else {}
        await line.say(answer(json.dumps({"UnprocessedItems": rest}).encode()))

    return step


def key(n: int) -> dict[str, Any]:
    return {"pk": "a", "sk": n}


def sent_keys(request: Request) -> list[int]:
    return [int(key["sk"]["N"]) for key in request.json["RequestItems"][PHYSICAL]["Keys"]]


def sent_writes(request: Request) -> list[int]:
    return [
        int((write.get("PutRequest", {}).get("Item") or write["DeleteRequest"]["Key"])["sk"]["N"])
        for write in request.json["RequestItems"][PHYSICAL]
    ]


def test_unprocessed_keys_are_retried_until_all_are_read() -> None:
    async def check() -> None:
        async with hostile_server(get_some(2), get_some(0), get_some(1)) as server:
            server.otherwise = get_some(100)
            async with quick_client(server.url) as client:
                found = await client.batch_get(BATCH_GET, [key(n) for n in range(5)])
                assert sorted(item["sk"] for item in found) == [0, 1, 2, 3, 4]
                row = client.ledger[BATCH_GET.name]
                assert (row.calls, row.read_units) == (4, 5)
            assert [sent_keys(request) for request in server.requests] == [
                [0, 1, 2, 3, 4],
                [2, 3, 4],
                [2, 3, 4],
                [3, 4],
            ]
            asked = [request.json["RequestItems"][PHYSICAL]["ConsistentRead"] for request in server.requests]
            assert asked == [True] * 4, "the rest is read as strongly as the first"

    run("asyncio", check())


def test_unprocessed_keys_of_several_tables_are_retried_in_their_tables() -> None:
    both = replace(BATCH_GET, name="both", tables=(TABLE, "chats"), eventual_tables=("chats",))
    other = "test-chats"

    async def process_first(line: Line, request: Request) -> None:
        """Answer the first key of each table with itself, and leave the rest unprocessed."""
        asked = request.json["RequestItems"]
        found = {table: each["Keys"][:1] for table, each in asked.items()}
        rest = {table: each | {"Keys": each["Keys"][1:]} for table, each in asked.items() if each["Keys"][1:]}
        await line.say(answer(json.dumps({"Responses": found, "UnprocessedKeys": rest}).encode()))

    async def check() -> None:
        async with hostile_server() as server:
            server.otherwise = process_first
            async with quick_client(server.url) as client:
                keys = {TABLE: [key(1), key(2), key(3)], "chats": [key(4), key(5)]}
                found = await client.batch_get_tables(both, keys)
                assert {table: [item["sk"] for item in some] for table, some in found.items()} == {
                    TABLE: [1, 2, 3],
                    "chats": [4, 5],
                }
                row = client.ledger["both"]
                assert (row.calls, row.read_units) == (3, 3 + 2 * 0.5)
            asked = [request.json["RequestItems"] for request in server.requests]
            assert [{table: len(each["Keys"]) for table, each in one.items()} for one in asked] == [
                {PHYSICAL: 3, other: 2},
                {PHYSICAL: 2, other: 1},
                {PHYSICAL: 1},
            ]
            assert all(one[PHYSICAL]["ConsistentRead"] for one in asked)
            assert not any(one[other].get("ConsistentRead", False) for one in asked if other in one)

    run("asyncio", check())


def test_leftovers_of_one_call_join_the_next() -> None:
    async def check() -> None:
        async with hostile_server(get_some(90)) as server:
            server.otherwise = get_some(100)
            async with quick_client(server.url) as client:
                found = await client.batch_get(BATCH_GET, [key(n) for n in range(150)])
            assert sorted(item["sk"] for item in found) == list(range(150))
            assert [len(sent_keys(request)) for request in server.requests] == [100, 60]

    run("asyncio", check())


def test_unprocessed_writes_are_retried_until_all_are_done() -> None:
    async def check() -> None:
        async with hostile_server(write_some(1), write_some(0)) as server:
            server.otherwise = write_some(25)
            async with quick_client(server.url) as client:
                large = [key(n) | {"fill": "x" * 2 * KB} for n in range(2)]
                await client.batch_write(BATCH_WRITE, puts=large, deletes=[key(7)])
                row = client.ledger[BATCH_WRITE.name]
                assert row.write_units == 3 + 3 + 1
            assert [sent_writes(request) for request in server.requests] == [[0, 1, 7], [1, 7], [1, 7]]

    run("asyncio", check())


@pytest.mark.parametrize("wait_s", [60.0, 0.001], ids=["it_would_wait_longer", "it_wakes_up_too_late"])
def test_unprocessed_items_are_reported_at_the_deadline(wait_s: float) -> None:
    async def check() -> None:
        patient = replace(QUICK, retries=replace(QUICK.retries, first_wait_s=wait_s, max_wait_s=wait_s))
        async with hostile_server(write_some(1)) as server, quick_client(server.url, patient) as client:
            channel = channel_of(client)
            began = channel.now()
            channel.retries._draw = lambda: 1.0

            async def oversleep(_: float) -> None:
                channel.now = lambda: began + 60.0

            channel.sleep = oversleep
            with pytest.raises(errors.UnprocessedError) as caught:
                await client.batch_write(BATCH_WRITE, puts=[key(n) for n in range(3)], timeout_s=20.0)
            assert len(server.requests) == 1
        assert caught.value.unprocessed == (key(1), key(2))
        assert caught.value.maybe_applied, "the first batch was applied"

    run("asyncio", check())


def test_a_batch_that_fails_after_a_partial_success_reports_it() -> None:
    async def check() -> None:
        wrong = refuse("ValidationException")
        async with hostile_server(write_some(25), wrong, wrong) as server, quick_client(server.url) as client:
            with pytest.raises(errors.ValidationError) as caught:
                await client.batch_write(BATCH_WRITE, puts=[key(n) for n in range(30)])
            assert caught.value.maybe_applied
            with pytest.raises(errors.ValidationError) as caught:
                await client.batch_write(BATCH_WRITE, puts=[key(1)])
            assert not caught.value.maybe_applied

    run("asyncio", check())


def test_an_unanswered_batch_of_writes_is_retried_only_if_that_is_safe() -> None:
    async def check() -> None:
        async with hostile_server(say_and_close(b""), say_and_close(b"")) as server:
            server.otherwise = write_some(25)
            async with quick_client(server.url) as client:
                with pytest.raises(errors.OutcomeUnknownError):
                    await client.batch_write(BATCH_WRITE, puts=[key(1)])
                await client.batch_write(BATCH_WRITE, puts=[key(1)], repeatable=True)
            assert len(server.requests) == 3

    run("asyncio", check())
