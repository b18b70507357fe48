"""Item sizes as engines count them, measured at the limit between one write unit and two."""

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from contract.schema.conftest import Installation
from fixtures.encoded_sizes import item_bytes, value_bytes

from tidings.platform.dynamo.item_size import WRITE_UNIT_BYTES

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

VALUES: list[dict[str, Any]] = [
    {"S": "é€😀"},
    {"B": b"12345"},
    {"BOOL": True},
    {"NULL": True},
    {"L": []},
    {"M": {}},
    {"L": [{"N": "1"}, {"L": [{"S": "a"}]}]},
    {"M": {"kk": {"S": "abc"}, "l": {"M": {}}}},
    {"SS": ["ab", "cde"]},
    {"NS": ["1", "-22", "333"]},
    {"BS": [b"ab", b"cde"]},
]
NUMBERS = [
    *("0", "7", "99", "100", "123", "1000", "12345", "123456", "1234567890", "1731628800", "1731628812345"),
    *("12345678901234567890123456789012345678", "999999999999999", "-1", "-123", "-100", "0.01", "0.123"),
    *("1.5", "-1.5", "1e100", "1.23e-5"),
]
ALIGNED = ["110", "1230", "11.1", "90", "990", "100000000000010"]
"""Where pairs aligned at the point are more than half of the digits. dynoxide estimates, at most a byte less."""


class Scale:
    """Measures a value: pads an item until it costs a second unit."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client, self._table = client, table
        self._ids = map("{:06}".format, itertools.count())

    def weigh(self, value: dict[str, Any]) -> int:
        padding, too_much = 0, WRITE_UNIT_BYTES
        while too_much - padding > 1:
            middle = (padding + too_much) // 2
            if self._units(middle, value) == 1:
                padding = middle
            else:
                too_much = middle
        rest = item_bytes({"user_id": {"S": "000000"}, "v": {"S": ""}, "p": {"S": "x" * padding}})
        return WRITE_UNIT_BYTES - rest

    def _units(self, padding: int, value: dict[str, Any]) -> float:
        """Write a new item each time: DynamoDB counts the larger of the old and the new item."""
        item = {"user_id": {"S": next(self._ids)}, "p": {"S": "x" * padding}, "v": value}
        answer = self._client.put_item(TableName=self._table, Item=item, ReturnConsumedCapacity="TOTAL")
        return answer["ConsumedCapacity"]["CapacityUnits"]


@pytest.fixture
def scale(installation: Installation) -> Scale:
    installation.make(
        "users",
        GlobalSecondaryIndexes=None,
        AttributeDefinitions=[{"AttributeName": "user_id", "AttributeType": "S"}],
        DeletionProtectionEnabled=False,
    )
    return Scale(installation.client, installation.name("users"))


def test_values_have_the_calculated_size(scale: Scale) -> None:
    values = [*VALUES, *({"N": number} for number in NUMBERS)]
    assert [(value, scale.weigh(value)) for value in values] == [
        (value, value_bytes(value)) for value in values
    ]


def test_numbers_have_at_most_the_calculated_size(scale: Scale, installation: Installation) -> None:
    for number in ALIGNED:
        ours = value_bytes({"N": number})
        assert scale.weigh({"N": number}) in ({ours} if installation.kind == "local" else {ours - 1, ours})
