"""Errors from answers, and answers that cannot be read."""

import json
import zlib

import pytest
from botocore.session import get_session

from tidings.platform.dynamo import errors, responses
from tidings.platform.dynamo.responses import check_integrity, error_from_response

BAD_REQUEST, SERVER_FAULT, UNAVAILABLE = 400, 500, 503


def refused(code: str, status: int = BAD_REQUEST, **fields: object) -> errors.DynamoError:
    body = json.dumps({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", **fields}).encode()
    return error_from_response(status, {b"x-amzn-RequestId": b"REQ1"}, body)


def test_a_failed_condition_contains_the_stored_item() -> None:
    error = refused(
        "ConditionalCheckFailedException", message="no", Item={"a": {"N": "1"}, "b": {"B": "eA=="}}
    )
    assert isinstance(error, errors.ConditionFailedError)
    assert error.item == {"a": 1, "b": b"x"}
    assert not error.transient
    assert not error.maybe_applied


def test_a_failed_condition_without_an_item_says_so() -> None:
    error = refused("ConditionalCheckFailedException", message="no")
    assert isinstance(error, errors.ConditionFailedError)
    assert error.item is None


def test_a_cancelled_transaction_carries_a_reason_for_each_action() -> None:
    reasons = [
        {"Code": "ConditionalCheckFailed", "Message": "no", "Item": {"a": {"S": "x"}}},
        {"Code": "None"},
        {"Code": "TransactionConflict", "Message": "busy"},
    ]
    error = refused("TransactionCanceledException", Message="cancelled", CancellationReasons=reasons)
    assert isinstance(error, errors.TransactionCancelledError)
    first, second, third = error.reasons
    assert (first.is_condition, first.item) == (True, {"a": "x"})
    assert second.is_blameless
    assert third.is_transient
    assert not error.transient, "a failed condition does not get better by repeating"


@pytest.mark.parametrize("code", ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"])
def test_a_transaction_cancelled_only_by_conflicts_and_throttling_is_transient(code: str) -> None:
    error = refused("TransactionCanceledException", CancellationReasons=[{"Code": "None"}, {"Code": code}])
    assert error.transient


def test_a_cancelled_transaction_without_reasons_is_not_repeated() -> None:
    assert not refused("TransactionCanceledException").transient


@pytest.mark.parametrize(
    ("code", "kind", "is_transient"),
    [
        ("TransactionConflictException", errors.ConflictError, True),
        ("TransactionInProgressException", errors.ConflictError, True),
        ("ReplicatedWriteConflictException", errors.ConflictError, True),
        ("ProvisionedThroughputExceededException", errors.ThrottledError, True),
        ("ThrottlingException", errors.ThrottledError, True),
        ("RequestLimitExceeded", errors.ThrottledError, True),
        ("LimitExceededException", errors.ThrottledError, True),
        ("ItemCollectionSizeLimitExceededException", errors.TooLargeError, False),
        ("IdempotentParameterMismatchException", errors.TokenReusedError, False),
        ("ResourceNotFoundException", errors.NotFoundError, False),
        ("AccessDeniedException", errors.AccessDeniedError, False),
        ("UnrecognizedClientException", errors.AccessDeniedError, False),
        ("ExpiredTokenException", errors.CredentialsExpiredError, True),
        ("ExpiredIteratorException", errors.IteratorExpiredError, False),
        ("TrimmedDataAccessException", errors.RecordsTrimmedError, False),
        ("ValidationException", errors.ValidationError, False),
        ("SomethingOfNextYear", errors.ValidationError, False),
    ],
)
def test_each_code_has_its_type(code: str, kind: type[errors.DynamoError], *, is_transient: bool) -> None:
    error = refused(code, message="because")
    assert type(error) is kind
    assert error.transient == is_transient
    assert (error.code, error.message, error.request_id) == (code, "because", "REQ1")
    assert not error.maybe_applied


@pytest.mark.parametrize("service", ["dynamodb", "dynamodbstreams"])
def test_every_error_that_botocore_knows_for_our_calls_has_a_type(service: str) -> None:
    model = get_session().get_service_model(service)
    ours = ("Get", "Put", "Update", "Delete", "Query", "Batch", "Transact", "List", "Describe")
    outcomes = {
        shape.name
        for name in model.operation_names
        if name.endswith(("Item", "Items", "Query", "Records", "Stream", "Streams", "Iterator"))
        and name.startswith(ours)
        for shape in model.operation_model(name).error_shapes
    }
    assert len(outcomes) > 3
    assert outcomes - responses._CODES.keys() <= {"InternalServerError"}


@pytest.mark.parametrize(
    "message",
    ["Item size has exceeded the maximum allowed size", "Item size to update has exceeded the maximum"],
)
def test_an_item_over_the_limit_is_distinguished_from_other_errors(message: str) -> None:
    assert isinstance(refused("ValidationException", message=message), errors.TooLargeError)


@pytest.mark.parametrize("status", [SERVER_FAULT, 502, UNAVAILABLE, 504])
@pytest.mark.parametrize("code", ["InternalServerError", "ServiceUnavailable", "InternalFailure"])
def test_after_a_server_fault_the_call_may_have_been_applied(status: int, code: str) -> None:
    error = refused(code, status)
    assert isinstance(error, errors.OutcomeUnknownError)
    assert error.maybe_applied
    assert error.code == code


def test_throttling_is_recognized_for_any_status() -> None:
    assert isinstance(refused("ThrottlingException", UNAVAILABLE), errors.ThrottledError)


@pytest.mark.parametrize("status", [302, BAD_REQUEST, 403, SERVER_FAULT])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"{}",
        b"\xff\xfe",
        b"[]",
        b'{"__type":3}',
        b'{"__type":"x#ConditionalCheckFailedException","Item":{"a":{}}}',
        b'{"__type":"x#ConditionalCheckFailedException","Item":{"a":{"N":"one"}}}',
    ],
)
def test_an_unreadable_answer_counts_as_no_answer(status: int, body: bytes) -> None:
    error = error_from_response(status, {}, body)
    assert isinstance(error, errors.OutcomeUnknownError)
    assert str(status) in error.message


@pytest.mark.parametrize("spelling", [b"x-amz-crc32", b"X-Amz-Crc32", b"X-AMZ-CRC32"])
def test_an_altered_answer_is_noticed(spelling: bytes) -> None:
    body = b'{"Item":{"a":{"N":"1"}}}'
    headers = {spelling: str(zlib.crc32(body)).encode()}
    check_integrity(headers, body)
    with pytest.raises(errors.OutcomeUnknownError):
        check_integrity(headers, body.replace(b"1", b"7"))


@pytest.mark.parametrize("checksum", [b"none", b"-1"])
def test_a_checksum_that_is_no_number_matches_nothing(checksum: bytes) -> None:
    with pytest.raises(errors.OutcomeUnknownError):
        check_integrity({b"x-amz-crc32": checksum}, b"{}")


def test_an_answer_without_a_checksum_is_accepted() -> None:
    check_integrity({b"content-length": b"2"}, b"{}")


def test_an_error_has_code_outcome_and_request_id() -> None:
    error = errors.OutcomeUnknownError("no answer in time", code="X", request_id="R")
    assert str(error) == "X: no answer in time (may have been applied) [request R]"
    assert str(errors.NotSentError("refused")) == "refused"
