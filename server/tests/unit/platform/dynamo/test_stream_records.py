"""Who removed an item: the store's own TTL, or somebody."""

import json

import pytest

from tidings.platform.dynamo.records import read_records


def body(identity: dict[str, str] | None) -> bytes:
    record = {
        "eventID": "1",
        "eventName": "REMOVE",
        "dynamodb": {"SequenceNumber": "7", "Keys": {"pk": {"S": "a"}}, "SizeBytes": 3},
    }
    told = record if identity is None else record | {"userIdentity": identity}
    return json.dumps({"Records": [told], "NextShardIterator": "more"}).encode()


@pytest.mark.parametrize(
    ("identity", "is_expiry"),
    [
        ({"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}, True),
        ({"type": "Service", "principalId": "dynamodb.amazonaws.com"}, True),
        ({"Type": "Service", "PrincipalId": "somebody.else"}, False),
        (None, False),
    ],
)
def test_a_removal_by_ttl_is_told_from_one_by_hand_however_it_is_spelled(
    identity: dict[str, str] | None, *, is_expiry: bool
) -> None:
    (record,) = read_records(body(identity)).records
    assert record.is_expiry is is_expiry
