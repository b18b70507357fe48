"""Pages of a Query, read straight into structs."""

import msgspec
import pytest
from msgspec import Struct

from tidings.platform.dynamo.codec import Item, encode_item
from tidings.platform.dynamo.operations import (
    PLAIN,
    BinaryValue,
    BoolValue,
    IntegerAttribute,
    StringValue,
    item_type,
)
from tidings.platform.dynamo.responses import UNREADABLE


class Parcel(Struct):
    name: StringValue
    weight: IntegerAttribute | None = None
    label: BinaryValue | None = None
    sent: BoolValue | None = None


PARCEL = item_type(Parcel)
WHOLE = Parcel(StringValue("ann"), IntegerAttribute(10**37), BinaryValue(b"\x00\xff"), BoolValue(BOOL=True))
ITEM: Item = {"name": "ann", "weight": 10**37, "label": b"\x00\xff", "sent": True, "tags": {"a"}}


def page(*items: bytes) -> bytes:
    return b'{"Items":[' + b",".join(items) + b'],"ScannedCount":7,"LastEvaluatedKey":{"name":{"S":"x"}}}'


def test_the_fields_of_a_struct_are_read_and_others_ignored() -> None:
    read = PARCEL.verb.read(page(encode_item(ITEM), encode_item({"name": "ben"})))
    assert read.items == [WHOLE, Parcel(StringValue("ben"))]
    assert (read.last_key, read.scanned, read.consumed) == ({"name": "x"}, 7, ())


def test_an_item_in_memory_has_the_same_shape_as_one_that_was_read() -> None:
    assert PARCEL.of(ITEM) == WHOLE
    assert PLAIN.of(ITEM) is ITEM
    assert PLAIN.verb.read(page(encode_item(ITEM))).items == [ITEM]


@pytest.mark.parametrize(
    "item",
    [
        b'{"name":{"N":"1"}}',
        b'{"name":{"S":"ann"},"weight":{"S":"1"}}',
        b'{"name":{"S":"ann"},"weight":{"N":"1.5"}}',
        b'{"name":{"S":"ann"},"weight":{"N":"heavy"}}',
        b'{"weight":{"N":"1"}}',
    ],
)
def test_a_value_of_another_type_is_refused(item: bytes) -> None:
    with pytest.raises(UNREADABLE):
        PARCEL.verb.read(page(item))


def test_a_shape_reads_the_same_page_key_and_counts_as_the_plain_one() -> None:
    body = b'{"Items":[],"ScannedCount":3,"ConsumedCapacity":{"CapacityUnits":2.5}}'
    shaped, plain = PARCEL.verb.read(body), PLAIN.verb.read(body)
    assert msgspec.to_builtins(shaped) == msgspec.to_builtins(plain)
