"""The same answers as boto3, for every operation and its errors, on both engines."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from contract.dynamo.by_boto3 import call_by_boto3
from contract.dynamo.by_us import call_by_us
from contract.dynamo.calls import Call, Outcome, Update
from contract.dynamo.conftest import REGION, ScratchTable
from contract.dynamo.patterns import (
    BATCH_GET,
    BATCH_GET_EVENTUAL,
    BATCH_WRITE,
    DELETE,
    GET,
    GET_EVENTUAL,
    PUT,
    QUERY,
    QUERY_EVENTUAL,
    QUERY_INDEX,
    TABLE,
    TRANSACT_WRITE,
    UPDATE,
)

from tidings.platform.dynamo.open_client import open_client
from tidings.platform.dynamo.requests import Check, Delete, Put, Query
from tidings.platform.dynamo.requests import Update as UpdateAction

RICH = {
    "pk": "a",
    "sk": 1,
    "colour": "red",
    "text": 'Grüße, 世界 \n"quoted" \\ /',
    "empty": "",
    "nothing": None,
    "yes": True,
    "blob": bytes(range(256)),
    "no_blob": b"",
    "exact": Decimal("-0.00000000000000000012345678901234567890"),
    "huge": 10**37 + 1,
    "list": [1, "two", b"3", None, False, [{"deep": {1, 2}}]],
    "map": {"x": {"y": []}, "z": {}},
    "texts": {"a", "b"},
    "numbers": {1, Decimal("2.5"), -3},
    "blobs": {b"a", b"\x00"},
}
KEY: dict[str, Any] = {"pk": "a", "sk": 1}
ABSENT = "attribute_not_exists(pk)"
EXISTS = "attribute_exists(pk)"


async def outcomes(place: ScratchTable, calls: Sequence[Call]) -> list[tuple[Outcome, Outcome]]:
    async with open_client(place.engine.url, REGION, place.ours) as client:
        return [
            (await call_by_us(client, call), call_by_boto3(place.boto3, place.their_table, call))
            for call in calls
        ]


def check(place: ScratchTable, *calls: Call) -> list[Outcome]:
    pairs = asyncio.run(outcomes(place, calls))
    for call, (ours, theirs) in zip(calls, pairs, strict=True):
        named = replace(theirs, message=theirs.message.replace(place.theirs, place.ours))
        assert ours == named, f"after {call}"
    return [ours for ours, _ in pairs]


def put(item: dict[str, Any], **options: Any) -> Call:
    return Call(PUT, item, options)


def row(sk: int, **more: Any) -> dict[str, Any]:
    return {"pk": "a", "sk": sk, "colour": "red" if sk % 2 else "blue", **more}


def query(pattern: Any = QUERY, condition: str = "pk = :p", **more: Any) -> Call:
    values = {":p": "a"} | more.pop("values", {})
    return Call(pattern, Query(condition=condition, values=values, **more))


def test_an_item_of_every_type_is_put_and_got(place: ScratchTable) -> None:
    got = check(place, put(RICH), Call(GET, KEY), Call(GET_EVENTUAL, KEY), Call(GET, {"pk": "a", "sk": 2}))
    assert got[1].value == RICH
    assert got[3].value is None


def test_get_can_be_narrowed(place: ScratchTable) -> None:
    narrowed = {"projection": "#t, #m.x", "names": {"#t": "text", "#m": "map"}}
    _, got = check(place, put(RICH), Call(GET, KEY, narrowed))
    assert got.value == {"text": RICH["text"], "map": {"x": {"y": []}}}


def test_put_returns_the_old_item_if_requested(place: ScratchTable) -> None:
    got = check(place, put(row(1), returns="ALL_OLD"), put(row(1, n=2), returns="ALL_OLD"), put(row(1)))
    assert [outcome.value for outcome in got] == [None, row(1), None]


def test_a_failed_condition_returns_the_stored_item(place: ScratchTable) -> None:
    got = check(place, put(RICH, condition=ABSENT), put(row(1), condition=ABSENT), Call(GET, KEY))
    assert got[1].code == "ConditionalCheckFailedException"
    assert got[1].item == RICH
    assert got[2].value == RICH


def test_a_failed_condition_on_a_missing_item_returns_no_item(place: ScratchTable) -> None:
    (got,) = check(place, put(row(1), condition=EXISTS))
    assert (got.code, got.item) == ("ConditionalCheckFailedException", None)


@pytest.mark.parametrize("returns", ["NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"])
def test_update_changes_and_returns_as_requested(place: ScratchTable, returns: str) -> None:
    options = {"values": {":n": 5, ":t": "new"}, "names": {"#t": "text"}, "returns": returns}
    check(
        place,
        put(row(1, n=1, gone="x")),
        Call(UPDATE, Update(KEY, "SET #t = :t, n = n + :n REMOVE gone"), options),
        Call(UPDATE, Update({"pk": "a", "sk": 9}, "SET #t = :t ADD n :n"), options),
        Call(GET, KEY),
    )


def test_update_adds_to_sets_and_fails_by_condition(place: ScratchTable) -> None:
    guarded = {"values": {":s": {"b"}, ":n": 3}, "condition": "n < :n"}
    got = check(
        place,
        put(row(1, n=1, s={"a"})),
        Call(UPDATE, Update(KEY, "ADD s :s SET n = :n"), guarded),
        Call(UPDATE, Update(KEY, "ADD s :s SET n = :n"), guarded),
        Call(GET, KEY),
    )
    assert got[2].code == "ConditionalCheckFailedException"
    assert got[2].item == got[3].value == row(1, n=3, s={"a", "b"})


def test_delete_with_and_without_condition(place: ScratchTable) -> None:
    check(
        place,
        put(row(1)),
        Call(DELETE, KEY, {"condition": "n = :n", "values": {":n": 1}}),
        Call(DELETE, KEY, {"returns": "ALL_OLD"}),
        Call(DELETE, KEY, {"returns": "ALL_OLD"}),
        Call(DELETE, KEY),
    )


def test_query_pages_filters_and_goes_backward(place: ScratchTable) -> None:
    puts = [put(row(sk, n=sk * 10)) for sk in range(1, 8)]
    got = check(
        place,
        *puts,
        query(),
        query(QUERY_EVENTUAL),
        query(limit=3),
        query(limit=3, start={"pk": "a", "sk": 3}),
        query(limit=3, start={"pk": "a", "sk": 6}),
        query(backward=True, limit=2),
        query(condition="pk = :p AND sk BETWEEN :a AND :b", values={":a": 2, ":b": 4}),
        query(filter="n > :n", values={":n": 45}, limit=5),
        query(projection="#s, n", names={"#s": "sk"}),
        query(values={":p": "nobody"}),
    )
    assert [len(outcome.value[0]) for outcome in got[7:]] == [7, 7, 3, 3, 1, 2, 3, 1, 7, 0]
    assert got[9].value[1] == {"pk": "a", "sk": 3}


def test_query_of_an_index(place: ScratchTable) -> None:
    puts = [put(row(sk)) for sk in range(1, 6)]
    by_colour = query(QUERY_INDEX, "colour = :p", values={":p": "red"}, limit=2)
    got = check(place, *puts, by_colour)
    assert [item["sk"] for item in got[-1].value[0]] == [1, 3]
    assert got[-1].value[1] == {"pk": "a", "sk": 3, "colour": "red"}


def test_batches_write_delete_and_get(place: ScratchTable) -> None:
    rows = [row(sk, fill="x" * sk) for sk in range(1, 21)]
    keys = [{"pk": "a", "sk": sk} for sk in range(1, 31)]
    got = check(
        place,
        Call(BATCH_WRITE, {"puts": rows}),
        Call(BATCH_GET, keys),
        Call(BATCH_WRITE, {"puts": [row(30)], "deletes": keys[:5]}),
        Call(BATCH_GET_EVENTUAL, keys, {"projection": "sk"}),
    )
    assert [len(outcome.value or ()) for outcome in got] == [0, 20, 0, 16]


def test_a_transaction_of_all_four_kinds(place: ScratchTable) -> None:
    got = check(
        place,
        put(row(1, n=1)),
        put(row(2)),
        put(row(3)),
        Call(
            TRANSACT_WRITE,
            [
                UpdateAction(table=TABLE, key=KEY, update="SET n = n + :n", values={":n": 1}),
                Delete(table=TABLE, key={"pk": "a", "sk": 2}, condition=EXISTS),
                Check(table=TABLE, key={"pk": "a", "sk": 3}, condition=EXISTS),
                Put(table=TABLE, item=row(4), condition=ABSENT),
            ],
        ),
        *(Call(GET, {"pk": "a", "sk": sk}) for sk in range(1, 5)),
    )
    assert [each.value for each in got[-4:]] == [row(1, n=2), None, row(3), row(4)]


def test_a_cancelled_transaction_has_a_reason_for_each_action_and_does_nothing(place: ScratchTable) -> None:
    got = check(
        place,
        put(RICH),
        Call(
            TRANSACT_WRITE,
            [
                Put(table=TABLE, item=row(5)),
                Put(table=TABLE, item=row(1), condition=ABSENT),
                Check(table=TABLE, key={"pk": "a", "sk": 7}, condition=EXISTS),
                Delete(table=TABLE, key={"pk": "a", "sk": 8}),
            ],
        ),
        Call(GET, {"pk": "a", "sk": 5}),
    )
    codes = [reason[0] for reason in got[1].reasons]
    assert codes == ["None", "ConditionalCheckFailed", "ConditionalCheckFailed", "None"]
    assert [reason[2] for reason in got[1].reasons] == [None, RICH, None, None]
    assert got[2].value is None


def test_a_token_makes_a_repeat_harmless_and_another_content_an_error(place: ScratchTable) -> None:
    add = UpdateAction(table=TABLE, key=KEY, update="ADD n :n", values={":n": 1})
    other = UpdateAction(table=TABLE, key=KEY, update="ADD n :n", values={":n": 2})
    pairs = asyncio.run(
        outcomes(
            place,
            [
                Call(TRANSACT_WRITE, [add], {"token": f"{place.ours}-1"}),
                Call(TRANSACT_WRITE, [add], {"token": f"{place.ours}-1"}),
                Call(GET, KEY),
            ],
        )
    )
    assert pairs[2][0].value["n"] == 1
    (mismatch,) = asyncio.run(outcomes(place, [Call(TRANSACT_WRITE, [other], {"token": f"{place.ours}-1"})]))
    assert mismatch[0].code == mismatch[1].code == "IdempotentParameterMismatchException"


@pytest.mark.parametrize(
    "call",
    [
        put({"pk": "a"}),
        put({"pk": 1, "sk": 1}),
        put({"pk": "", "sk": 1}),
        put({}),
        put(row(1), condition="no such grammar !!"),
        put(row(1), condition="a = :missing"),
        put(row(1, fill="x" * 410_000)),
        put(row(1), returns="ALL_NEW"),
        Call(GET, {"pk": "a"}),
        Call(GET, {"pk": "a", "sk": "text"}),
        Call(UPDATE, Update(KEY, "SET pk = :v"), {"values": {":v": "x"}}),
        Call(UPDATE, Update(KEY, "SET a = b + :v"), {"values": {":v": 1}}),
        Call(UPDATE, Update(KEY, "SET fill = :v"), {"values": {":v": "x" * 410_000}}),
        query(condition="sk = :p"),
        query(condition="pk > :p"),
        Call(BATCH_GET, [KEY, KEY]),
        Call(BATCH_WRITE, {"puts": [row(1), row(1)]}),
        Call(TRANSACT_WRITE, [Put(table=TABLE, item=row(1)), Delete(table=TABLE, key=KEY)]),
        Call(TRANSACT_WRITE, [Put(table=TABLE, item=row(sk)) for sk in range(101)]),
    ],
    ids=lambda call: str(call)[:60],
)
def test_invalid_calls_get_the_same_error(place: ScratchTable, call: Call) -> None:
    (got,) = check(place, call)
    assert got.code in {"ValidationException", "TransactionCanceledException"}


def test_a_missing_table_is_reported(place: ScratchTable) -> None:
    async def ours() -> Outcome:
        async with open_client(place.engine.url, REGION, "there-is-no-such-") as client:
            return await call_by_us(client, Call(GET, KEY))

    theirs = call_by_boto3(place.boto3, f"there-is-no-such-{TABLE}", Call(GET, KEY))
    assert asyncio.run(ours()) == theirs
    assert theirs.code == "ResourceNotFoundException"
