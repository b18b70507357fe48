"""Change records: expiry or deletion, and images with unreadable values."""

import json

import pytest

from tidings.platform.dynamo.streams import ChangeType, read_records


def body(identity: dict[str, str] | None) -> bytes:
    record = {
        "eventID": "1",
        "eventName": "REMOVE",
        "dynamodb": {"SequenceNumber": "7", "Keys": {"pk": {"S": "a"}}, "SizeBytes": 3},
    }
    data = record if identity is None else record | {"userIdentity": identity}
    return json.dumps({"Records": [data], "NextShardIterator": "more"}).encode()


@pytest.mark.parametrize(
    ("identity", "is_expiry"),
    [
        ({"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}, True),
        ({"type": "Service", "principalId": "dynamodb.amazonaws.com"}, True),
        ({"Type": "Service", "PrincipalId": "somebody.else"}, False),
        (None, False),
    ],
)
def test_a_removal_by_ttl_is_distinguished_from_a_delete_in_every_format(
    identity: dict[str, str] | None, *, is_expiry: bool
) -> None:
    (record,) = read_records(body(identity)).records
    assert record.is_expiry is is_expiry


def test_a_value_without_its_type_is_skipped() -> None:
    """As DynamoDB Local has them in its stream; in an answer to a read it would be an answer that can't be read."""
    data = json.loads(body(None))
    data["Records"][0]["dynamodb"]["NewImage"] = {
        "pk": {"S": "a"},
        "strange": {},
        "deep": {"M": {"within": {}}},
        "many": {"L": [{"N": "1"}]},
    }
    (record,) = read_records(json.dumps(data).encode()).records
    assert record.new == {"pk": "a", "many": [1]}


@pytest.mark.parametrize(
    ("images", "change"),
    [
        ({"NewImage": {"pk": {"S": "a"}}}, ChangeType.INSERT),
        ({"NewImage": {"pk": {"S": "a"}}, "OldImage": {"pk": {"S": "a"}}}, ChangeType.MODIFY),
        ({"OldImage": {"pk": {"S": "a"}}}, ChangeType.REMOVE),
    ],
)
def test_an_unknown_event_name_is_derived_from_the_images(
    images: dict[str, object], change: ChangeType
) -> None:
    """DynamoDB Local sometimes returns such a record. The records behind it must stay readable."""
    data = json.loads(body(None))
    data["Records"][0]["eventName"] = "UNKNOWN_TO_SDK_VERSION"
    data["Records"][0]["dynamodb"] |= images
    (record,) = read_records(json.dumps(data).encode()).records
    assert record.change is change
