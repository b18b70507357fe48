"""Missing or corrupt answers: what the caller receives, and what the client repeats.

The rule: a write without a usable answer may have been applied. The client repeats it only if the caller declared a
repeat safe, with the same bytes. A later answer does not remove the doubt.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from faults.dynamo_calls import (
    ABSENT,
    GET,
    ITEM,
    KEY,
    LOOPS,
    PUT,
    QUICK,
    TABLE,
    TAGGED,
    TRANSACT_WRITE,
    UPDATE,
    quick_client,
    run,
)
from faults.hostile_server import (
    HostileServer,
    Step,
    answer,
    drip,
    hostile_server,
    in_pieces,
    refuse,
    say,
    say_and_close,
    say_and_reset,
    silence,
    tell,
)
from tidings.platform.dynamo import errors
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.connection_pool import PoolLimits
from tidings.platform.dynamo.requests import Put

WHOLE = answer(b'{"Item":{"pk":{"S":"a"}}}')
IMPATIENT = replace(QUICK, try_timeout_s=0.3)
VERY_IMPATIENT = replace(QUICK, try_timeout_s=0.3, call_timeout_s=0.4)

BROKEN: dict[str, Step] = {
    "closed after the request was read": say_and_close(b""),
    "reset after the request was read": say_and_reset(b""),
    "half a status line": say_and_close(b"HTTP/1."),
    "half the headers": say_and_close(WHOLE[:60]),
    "half the body": say_and_close(WHOLE[:-9]),
    "reset in the middle of the body": say_and_reset(WHOLE[:-9]),
    "not HTTP": say(b"\x16\x03\x01\x02\x00 what is this\r\n\r\n"),
    "another protocol's greeting": say(b"220 smtp ready\r\n"),
    "two answers at once": say(WHOLE + WHOLE),
    "an answer and a bit": say(WHOLE + b"HTTP/1.1 2"),
    "a switch of protocols": say(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n"
    ),
}
UNUSABLE: dict[str, Step] = {
    "bytes that are not JSON": say(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\x00\xff\x00\xff"),
    "a page instead of JSON": say(answer(b"<html>")),
    "JSON of another shape": say(answer(b'{"Item":[1,2],"Attributes":7}')),
    "a checksum of other bytes": say(WHOLE.replace(b'"S":"a"', b'"S":"b"')),
    "a redirect": say(answer(b"", "302 Found", ["Location: http://127.0.0.1:1/"])),
    "500 with a reason": refuse("InternalServerError", "500 Internal Server Error"),
    "500 without a reason": say(answer(b"", "500 Internal Server Error")),
    "502 of a balancer": say(answer(b"<html>bad gateway</html>", "502 Bad Gateway")),
    "503": refuse("ServiceUnavailable", "503 Service Unavailable"),
    "400 with an unreadable body": say(answer(b"oops", "400 Bad Request")),
}
SPOILT = BROKEN | UNUSABLE
LATE: dict[str, Step] = {"silence": silence, "slow bytes": drip(WHOLE, pause_s=0.05)}

each_loop = pytest.mark.parametrize("loop", LOOPS)
each_spoilt = pytest.mark.parametrize("spoilt", SPOILT)
each_late = pytest.mark.parametrize("late", LATE)


@each_loop
@each_spoilt
def test_a_write_that_is_not_safe_to_repeat_is_sent_once_and_its_doubt_reported(
    loop: str, spoilt: str
) -> None:
    async def check() -> None:
        async with hostile_server(SPOILT[spoilt]) as server, quick_client(server.url) as client:
            with pytest.raises(errors.OutcomeUnknownError) as caught:
                await client.update(UPDATE, KEY, "ADD n :one", values={":one": 1})
            assert caught.value.maybe_applied
            assert server.operations == ["UpdateItem"]

    run(loop, check())


@each_loop
@each_spoilt
def test_a_write_that_is_safe_to_repeat_is_retried_with_the_same_bytes(loop: str, spoilt: str) -> None:
    async def check() -> None:
        async with hostile_server(SPOILT[spoilt]) as server, quick_client(server.url) as client:
            written = await client.put(PUT, ITEM, condition=ABSENT, repeatable=True)
            assert written.maybe_repeated, "the first try may have been applied"
            first, second = server.requests
            assert first.body == second.body

    run(loop, check())


@each_loop
@each_spoilt
def test_an_unanswered_read_is_retried(loop: str, spoilt: str) -> None:
    async def check() -> None:
        async with hostile_server(SPOILT[spoilt], tell(Item=TAGGED)) as server:
            async with quick_client(server.url) as client:
                assert await client.get(GET, KEY) == ITEM
            assert server.operations == ["GetItem", "GetItem"]

    run(loop, check())


@each_loop
@pytest.mark.parametrize("spoilt", BROKEN)
def test_a_connection_with_a_corrupt_answer_is_never_used_again(loop: str, spoilt: str) -> None:
    async def check() -> None:
        async with hostile_server(BROKEN[spoilt]) as server, quick_client(server.url) as client:
            with pytest.raises(errors.OutcomeUnknownError):
                await client.put(PUT, ITEM)
            await client.put(PUT, ITEM)
            assert [request.connection for request in server.requests] == [1, 2]

    run(loop, check())


@each_loop
@each_late
def test_a_late_answer_counts_as_no_answer(loop: str, late: str) -> None:
    async def check() -> None:
        async with hostile_server(LATE[late]) as server, quick_client(server.url, VERY_IMPATIENT) as client:
            with pytest.raises(errors.OutcomeUnknownError, match="no answer in time"):
                await client.put(PUT, ITEM)
            await client.put(PUT, ITEM)
            assert [request.connection for request in server.requests] == [1, 2]

    run(loop, check())


@each_loop
@each_late
def test_a_repeatable_call_does_not_spend_all_its_time_on_one_try(loop: str, late: str) -> None:
    async def check() -> None:
        async with (
            hostile_server(LATE[late], tell(Item=TAGGED)) as server,
            quick_client(server.url, IMPATIENT) as client,
        ):
            assert await client.get(GET, KEY) == ITEM

    run(loop, check())


@each_loop
def test_an_answer_larger_than_dynamodbs_maximum_is_cut_off(loop: str) -> None:
    small = replace(QUICK, pool=PoolLimits(max_answer_bytes=100_000))

    async def check() -> None:
        huge = say(answer(b" " * 200_000))
        async with hostile_server(huge) as server, quick_client(server.url, small) as client:
            with pytest.raises(errors.OutcomeUnknownError, match="larger"):
                await client.put(PUT, ITEM)

    run(loop, check())


@each_loop
@pytest.mark.parametrize("piece_bytes", [1, 7, 100])
def test_an_answer_in_pieces_is_accepted(loop: str, piece_bytes: int) -> None:
    async def check() -> None:
        pieces = in_pieces(answer(b'{"Item":{"pk":{"S":"a"}}}'), piece_bytes)
        async with hostile_server(pieces) as server, quick_client(server.url) as client:
            assert await client.get(GET, KEY) == {"pk": "a"}

    run(loop, check())


@each_loop
def test_a_chunked_answer_is_accepted(loop: str) -> None:
    chunked = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"Ite\r\n5\r\nm":{}\r\n1\r\n}\r\n0\r\n\r\n'

    async def check() -> None:
        async with hostile_server(say(chunked)) as server, quick_client(server.url) as client:
            assert await client.get(GET, KEY) == {}

    run(loop, check())


REFUSALS: dict[str, tuple[Step, type[errors.DynamoError]]] = {
    "condition": (refuse("ConditionalCheckFailedException", Item=TAGGED), errors.ConditionFailedError),
    "invalid": (refuse("ValidationException"), errors.ValidationError),
    "access": (refuse("AccessDeniedException"), errors.AccessDeniedError),
    "throttled for good": (refuse("ThrottlingException"), errors.ThrottledError),
    "conflict for good": (refuse("TransactionConflictException"), errors.ConflictError),
}


async def refused(
    server: HostileServer, call: Callable[[DynamoClient], Awaitable[object]]
) -> errors.DynamoError:
    async with quick_client(server.url) as client:
        with pytest.raises(errors.DynamoError) as caught:
            await call(client)
        return caught.value


def append(client: DynamoClient) -> Awaitable[object]:
    return client.put(PUT, ITEM, condition=ABSENT, repeatable=True)


@each_loop
@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_later_refusal_does_not_settle_an_earlier_try_without_an_answer(loop: str, refusal: str) -> None:
    async def check() -> None:
        step, kind = REFUSALS[refusal]
        async with hostile_server(say_and_close(b""), *[step] * 3) as server:
            error = await refused(server, append)
            assert type(error) is kind
            assert error.maybe_applied

    run(loop, check())


@each_loop
@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refusal_without_an_earlier_doubt_is_plain(loop: str, refusal: str) -> None:
    async def check() -> None:
        step, kind = REFUSALS[refusal]
        async with hostile_server(*[step] * 4) as server:
            error = await refused(server, append)
            assert type(error) is kind
            assert not error.maybe_applied

    run(loop, check())


def test_a_failed_condition_after_a_doubt_returns_the_item_to_compare() -> None:
    async def check() -> None:
        failed = refuse("ConditionalCheckFailedException", Item=TAGGED)
        async with hostile_server(say_and_close(b""), failed) as server:
            error = await refused(server, append)
            assert isinstance(error, errors.ConditionFailedError)
            assert error.maybe_applied
            assert error.item == ITEM

    run("asyncio", check())


def test_throttling_in_between_does_not_remove_the_doubt() -> None:
    async def check() -> None:
        slow = refuse("ThrottlingException")
        async with (
            hostile_server(slow, say_and_close(b""), slow) as server,
            quick_client(server.url) as client,
        ):
            written = await client.put(PUT, ITEM, condition=ABSENT, repeatable=True)
            assert written.maybe_repeated
            assert len(server.requests) == 4

    run("asyncio", check())


def test_a_write_after_mere_throttling_is_not_doubtful() -> None:
    async def check() -> None:
        slow = refuse("ProvisionedThroughputExceededException")
        async with hostile_server(slow, slow) as server, quick_client(server.url) as client:
            written = await client.update(UPDATE, KEY, "ADD n :one", values={":one": 1})
            assert not written.maybe_repeated
            row = client.ledger[UPDATE.name]
            assert (row.calls, row.retries, row.errors["ThrottledError"]) == (1, 2, 2)

    run("asyncio", check())


def test_a_read_that_was_never_answered_has_applied_nothing() -> None:
    async def check() -> None:
        async with hostile_server(*[say_and_close(b"")] * 4) as server:
            error = await refused(server, lambda client: client.get(GET, KEY))
            assert isinstance(error, errors.OutcomeUnknownError)
            assert not error.maybe_applied
            assert len(server.requests) == 4

    run("asyncio", check())


def test_a_transaction_is_repeated_if_it_has_a_token() -> None:
    async def check() -> None:
        async with hostile_server(say_and_close(b"")) as server, quick_client(server.url) as client:
            put = Put(table=TABLE, item=ITEM, condition=ABSENT)
            written = await client.transact_write(TRANSACT_WRITE, [put], token="t-1")
            assert written.maybe_repeated
            assert [request.json["ClientRequestToken"] for request in server.requests] == ["t-1", "t-1"]

    run("asyncio", check())


def test_a_transaction_without_a_token_is_not_repeated() -> None:
    async def check() -> None:
        async with hostile_server(say_and_close(b"")) as server:
            put = Put(table=TABLE, item=ITEM, condition=ABSENT)
            error = await refused(server, lambda client: client.transact_write(TRANSACT_WRITE, [put]))
            assert isinstance(error, errors.OutcomeUnknownError)
            assert len(server.requests) == 1

    run("asyncio", check())


def test_a_transaction_is_retried_after_a_conflict_but_not_after_a_failed_condition() -> None:
    busy = refuse("TransactionCanceledException", CancellationReasons=[{"Code": "TransactionConflict"}])
    taken = refuse(
        "TransactionCanceledException",
        CancellationReasons=[
            {"Code": "ConditionalCheckFailed", "Item": TAGGED},
            {"Code": "TransactionConflict"},
        ],
    )

    async def check() -> None:
        async with hostile_server(busy, taken) as server:
            puts = [Put(table=TABLE, item=ITEM, condition=ABSENT)]
            error = await refused(server, lambda client: client.transact_write(TRANSACT_WRITE, puts))
            assert isinstance(error, errors.TransactionCancelledError)
            assert error.reasons[0].item == ITEM
            assert not error.maybe_applied
            assert len(server.requests) == 2

    run("asyncio", check())
