"""Errors of AWS under load, as botocore interprets them, compared with the data in the engine."""

import json
import re
import zlib

import pytest
from botocore.exceptions import ClientError
from types_boto3_dynamodb import DynamoDBClient

from faults.clients import Table, dynamodb, put, put_all, writes
from faults.proxy import (
    Conflict,
    Deny,
    DynamoProxy,
    InProgress,
    InternalError,
    Match,
    Throttle,
    Throttled,
    Times,
    Unprocessed,
)
from faults.raw_client import RawClient, ask, request
from faults.scripted_engine import ScriptedEngine

PREFIX = "com.amazonaws.dynamodb.v20120810#"


@pytest.mark.parametrize("kind", Throttled)
def test_a_throttled_put_raises_the_modelled_exception_and_is_not_applied(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table, kind: Throttled
) -> None:
    with (
        proxy.fault(Throttle(kind), dose=Times(1)),
        pytest.raises(getattr(client.exceptions, kind)) as caught,
    ):
        put(client, table, "a")
    assert caught.value.response["Error"]["Code"] == kind
    assert caught.value.response["Error"]["Message"]
    assert table.keys() == set()
    put(client, table, "b")
    assert table.keys() == {"b"}


def test_a_client_that_retries_gets_through_a_throttle(proxy: DynamoProxy, table: Table) -> None:
    patient = dynamodb(proxy.url, retries={"mode": "standard", "total_max_attempts": 3})
    with proxy.fault(Throttle(), dose=Times(2)) as fault:
        put(patient, table, "a")
    assert fault.hits == 2
    assert [call.applied for call in proxy.calls] == [False, False, True]
    assert table.keys() == {"a"}


def test_a_throttle_has_the_format_of_aws(scripted: ScriptedEngine) -> None:
    with DynamoProxy(scripted.url) as proxy:
        proxy.fault(Throttle())
        status, headers, raw = ask(proxy.port, "PutItem", {"TableName": "some"})
    assert status == 400
    assert re.fullmatch("[0-9A-V]{52}", headers["x-amzn-RequestId"])
    assert headers["x-amz-crc32"] == str(zlib.crc32(raw))
    assert headers["Content-Type"] == "application/x-amz-json-1.0"
    assert json.loads(raw)["__type"] == f"{PREFIX}ProvisionedThroughputExceededException"
    assert scripted.received == []


@pytest.mark.parametrize(
    ("kind", "code"),
    [(Throttled.PROVISIONED, "ProvisionedThroughputExceeded"), (Throttled.ON_DEMAND, "ThrottlingError")],
)
def test_a_throttled_transaction_is_cancelled_with_reasons(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table, kind: Throttled, code: str
) -> None:
    with (
        proxy.fault(Throttle(kind, items=(1, 2)), dose=Times(1)),
        pytest.raises(client.exceptions.TransactionCanceledException) as caught,
    ):
        put_all(client, table, "a", "b", "c")
    reasons = caught.value.response["CancellationReasons"]
    assert [reason["Code"] for reason in reasons] == ["None", code, code]
    assert f"[None, {code}, {code}]" in caught.value.response["Error"]["Message"]
    assert table.keys() == set()


def test_a_transaction_can_be_throttled_as_a_whole(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    with (
        proxy.fault(Throttle(Throttled.ON_DEMAND, whole_call=True)),
        pytest.raises(client.exceptions.ThrottlingException),
    ):
        put_all(client, table, "a", "b")
    assert table.keys() == set()


def test_a_conflict_cancels_a_transaction_with_a_reason_for_each_item(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    with (
        proxy.fault(Conflict(items=(1,)), dose=Times(1)) as fault,
        pytest.raises(client.exceptions.TransactionCanceledException) as caught,
    ):
        put_all(client, table, "a", "b", "c")
    reasons = caught.value.response["CancellationReasons"]
    assert [reason["Code"] for reason in reasons] == ["None", "TransactionConflict", "None"]
    assert reasons[1]["Message"] == "Transaction is ongoing for the item"
    assert fault.hits == 1
    assert table.keys() == set()


def test_a_reason_for_a_missing_item_fails_the_test(scripted: ScriptedEngine) -> None:
    proxy = DynamoProxy(scripted.url)
    proxy.fault(Conflict(items=(2,)))
    with RawClient(proxy.port) as client:
        client.ask(request("TransactWriteItems", {"TransactItems": [{}, {}]}))
    with pytest.raises(ExceptionGroup) as caught:
        proxy.stop()
    assert caught.group_contains(ValueError, match="the transaction has 2")


def test_a_conflict_of_a_single_write_raises_its_own_exception(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    with proxy.fault(Conflict(), dose=Times(1)):
        with pytest.raises(client.exceptions.TransactionConflictException):
            put(client, table, "a")
        assert table.keys() == set()


def test_a_conflict_does_not_hit_calls_that_cannot_have_one(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    with proxy.fault(Conflict()) as fault:
        client.get_item(TableName=table.name, Key={"pk": {"S": "a"}})
        client.batch_write_item(RequestItems={table.name: writes("a")})
    assert (fault.seen, fault.hits) == (0, 0)
    assert table.keys() == {"a"}


@pytest.mark.parametrize("applied", [False, True])
def test_a_transaction_in_progress_was_applied_or_not_as_asked(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table, *, applied: bool
) -> None:
    with (
        proxy.fault(InProgress(applied=applied)),
        pytest.raises(client.exceptions.TransactionInProgressException),
    ):
        put_all(client, table, "a", "b")
    assert table.keys() == ({"a", "b"} if applied else set())


@pytest.mark.parametrize("applied", [False, True])
def test_an_internal_error_was_applied_or_not_as_asked(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table, *, applied: bool
) -> None:
    with (
        proxy.fault(InternalError(applied=applied), dose=Times(1)),
        pytest.raises(client.exceptions.InternalServerError) as caught,
    ):
        put(client, table, "a")
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500
    assert table.keys() == ({"a"} if applied else set())
    assert [call.applied for call in proxy.calls] == [applied]


def test_exactly_the_unprocessed_rest_of_a_batch_is_missing(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    with proxy.fault(Unprocessed(left=2), dose=Times(1)):
        answer = client.batch_write_item(RequestItems={table.name: writes("a", "b", "c", "d", "e")})
    assert table.keys() == {"a", "b", "c"}
    rest = answer["UnprocessedItems"]
    assert rest == {table.name: writes("d", "e")}
    client.batch_write_item(RequestItems=rest)
    assert table.keys() == {"a", "b", "c", "d", "e"}


def test_the_rest_of_a_batch_spans_tables_and_has_no_empty_table(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    other = Table(f"{table.name}-other", table.engine)
    other.create()
    batch = {table.name: writes("a", "b"), other.name: writes("c")}
    with proxy.fault(Unprocessed(left=2), dose=Times(1)):
        answer = client.batch_write_item(RequestItems=batch)
    assert (table.keys(), other.keys()) == ({"a"}, set())
    assert answer["UnprocessedItems"] == {table.name: writes("b"), other.name: writes("c")}


def test_unprocessed_keys_are_those_that_were_not_read(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    for pk in "abc":
        put(table.engine, table, pk, "text")
    keys = [{"pk": {"S": pk}} for pk in "abc"]
    wanted = {"Keys": keys, "ProjectionExpression": "pk", "ConsistentRead": True}
    with proxy.fault(Unprocessed(left=1), dose=Times(1)):
        answer = client.batch_get_item(RequestItems={table.name: wanted})  # type: ignore[dict-item]  # a plain dict
    found = answer["Responses"][table.name]
    assert sorted(item["pk"]["S"] for item in found) == ["a", "b"]
    assert answer["UnprocessedKeys"] == {table.name: {**wanted, "Keys": keys[2:]}}
    rest = client.batch_get_item(RequestItems=answer["UnprocessedKeys"])
    assert rest["Responses"][table.name] == [{"pk": {"S": "c"}}]


def test_a_batch_without_processed_items_is_throttled_as_on_aws(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    with (
        proxy.fault(Unprocessed(left=2)),
        pytest.raises(client.exceptions.ProvisionedThroughputExceededException),
    ):
        client.batch_write_item(RequestItems={table.name: writes("a", "b")})
    assert table.keys() == set()


def test_a_refusal_of_the_engine_is_forwarded_and_not_recorded_as_applied(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    with proxy.fault(Unprocessed(left=1)), pytest.raises(ClientError, match="ResourceNotFound"):
        client.batch_write_item(RequestItems={f"{table.name}-none": writes("a", "b")})
    assert proxy.calls[0].applied is False
    assert proxy.calls[0].status == 400


def test_only_the_tables_that_are_named_are_hit(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    with (
        proxy.fault(Throttle(), on=Match(tables={f"{table.name}-other"})) as other,
        proxy.fault(Throttle(), on=Match(tables={table.name}), dose=Times(1)) as this,
    ):
        with pytest.raises(client.exceptions.TransactionCanceledException):
            put_all(client, table, "a", "b")
        put_all(client, table, "a", "b")
    assert (other.hits, this.hits) == (0, 1)
    assert table.keys() == {"a", "b"}


def test_a_denied_action_is_rejected_in_single_calls_and_in_transactions(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    with proxy.fault(Deny(frozenset({"PutItem"}))) as policy:
        with pytest.raises(ClientError, match="AccessDeniedException"):
            put(client, table, "a")
        with pytest.raises(ClientError, match="AccessDeniedException"):
            put_all(client, table, "b", "c")
        assert table.keys() == set()
        client.batch_write_item(RequestItems={table.name: writes("d")})
    assert policy.hits == 2
    put(client, table, "e")
    assert table.keys() == {"d", "e"}
