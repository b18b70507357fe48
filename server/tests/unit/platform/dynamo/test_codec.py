"""The codec against boto3's, over every kind of value, and its refusals."""

import base64
import json
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any

import msgspec
import pytest
from boto3.dynamodb.types import Binary, TypeDeserializer, TypeSerializer
from hypothesis import given
from unit.platform.dynamo.generated import broken_numbers, items

from tidings.platform.dynamo.codec import (
    EncodedItem,
    Item,
    ItemValue,
    UnsupportedValueError,
    decode_item,
    encode_item,
    format_number,
)

read = msgspec.json.Decoder(EncodedItem).decode


def round_trip(item: Item) -> Item:
    return decode_item(read(encode_item(item)))


def comparable(tagged: Any) -> Any:
    """Normalize an encoded value: sets unordered, numbers as numbers, bytes as bytes."""
    ((letter, content),) = tagged.items()
    if letter == "M":
        return letter, {name: comparable(value) for name, value in content.items()}
    if letter == "L":
        return letter, [comparable(value) for value in content]
    if letter in ("SS", "NS", "BS"):
        return letter, {comparable({letter[0]: value}) for value in content}
    if letter == "B":
        return letter, base64.b64decode(content) if isinstance(content, str) else bytes(content)
    return letter, Decimal(content) if letter == "N" else content


def as_bytes(value: Any) -> Any:
    """boto3 wraps bytes in a class of its own."""
    match value:
        case Binary():
            return value.value  # type: ignore[attr-defined]  # the stubs leave it out
        case dict():
            return {name: as_bytes(inner) for name, inner in value.items()}
        case list():
            return [as_bytes(inner) for inner in value]
        case set():
            return {as_bytes(inner) for inner in value}
        case _:
            return value


@given(items)
def test_an_item_is_decoded_as_it_was_encoded(item: Item) -> None:
    assert round_trip(item) == item


@given(items)
def test_an_item_is_tagged_as_boto3_tags_it(item: Item) -> None:
    ours = json.loads(encode_item(item))
    theirs = {name: TypeSerializer().serialize(value) for name, value in item.items()}
    assert {n: comparable(v) for n, v in ours.items()} == {n: comparable(v) for n, v in theirs.items()}


@given(items)
def test_boto3_reads_what_we_read(item: Item) -> None:
    sent = {name: TypeSerializer().serialize(value) for name, value in item.items()}
    body = msgspec.json.encode(sent, enc_hook=lambda binary: binary.value)
    theirs = {name: TypeDeserializer().deserialize(value) for name, value in sent.items()}
    assert decode_item(read(body)) == as_bytes(theirs)


def test_equal_sets_have_equal_bytes_for_any_order() -> None:
    positions: set[int] = set()
    back: set[int] = set()
    for one, other in ((0, 8), (8, 0)):
        positions.add(one)
        back.add(other)
    assert list(positions) != list(back), "these two should show the order they were filled in"
    assert encode_item({"s": positions}) == encode_item({"s": back})


@given(broken_numbers)
def test_a_number_is_exact_and_whole_ones_are_int(number: Decimal) -> None:
    came = round_trip({"n": number})["n"]
    assert came == number
    assert isinstance(came, int) == (number == number.to_integral_value())


@pytest.mark.parametrize(
    "value",
    [
        1.5,
        float("nan"),
        Decimal("NaN"),
        Decimal("Infinity"),
        10**38 + 1,
        -(10**38) - 1,
        Decimal("0." + "1" * 39),
        Decimal("1E+126"),
        Decimal("1E-131"),
        set(),
        {"a", 1},
        {True},
        {"a", b"a"},
        {1.5},
        ["fine", 1.5],
        {"deep": [{"er": 1.5}]},
        "\ud800",
        ["\ud800"],
        object(),
        (1, 2),
        bytearray(b"x"),
    ],
    ids=lambda value: (
        type(value).__name__ if isinstance(value, set) or type(value) is object else repr(value)
    ),
)
def test_a_number_that_dynamodb_cannot_store_exactly_is_refused(value: Any) -> None:
    with pytest.raises(UnsupportedValueError):
        encode_item({"x": value})


@pytest.mark.parametrize("name", ["\ud800"])
def test_a_name_that_is_not_unicode_is_refused(name: str) -> None:
    with pytest.raises(UnsupportedValueError):
        encode_item({name: 1})


@pytest.mark.parametrize(
    "value",
    [
        10**38 - 1,
        10**125,
        -(10**125),
        Decimal("9.9999999999999999999999999999999999999E+125"),
        Decimal("1E-130"),
        Decimal("1E+125"),
        Decimal("-0"),
        0,
        True,
        None,
        "",
        b"",
        {},
        [],
        frozenset({1, Decimal("1.5")}),
    ],
    ids=repr,
)
def test_the_largest_exact_number_is_kept(value: ItemValue) -> None:
    assert round_trip({"x": value}) == {"x": value}


def test_an_integer_in_scientific_notation_is_an_int() -> None:
    came = decode_item(read(b'{"a":{"N":"1E+3"},"b":{"N":"1.50"}}'))
    assert came == {"a": 1000, "b": Decimal("1.5")}
    assert isinstance(came["a"], int)


def test_subclasses_are_encoded_as_their_base_type() -> None:
    class Colour(StrEnum):
        RED = "red"

    class Rank(IntEnum):
        FIRST = 1

    assert round_trip({"c": Colour.RED, "r": Rank.FIRST, "b": True}) == {"c": "red", "r": 1, "b": True}
    assert json.loads(encode_item({"b": True, "r": Rank.FIRST})) == {"b": {"BOOL": True}, "r": {"N": "1"}}


@pytest.mark.parametrize("tagged", [b'{"a":{}}', b'{"a":{"S":null}}', b'{"a":{"L":[{}]}}'])
def test_a_value_without_a_type_is_refused(tagged: bytes) -> None:
    with pytest.raises(UnsupportedValueError):
        decode_item(read(tagged))


@pytest.mark.parametrize("tagged", [b'{"a":{"X":"1"}}', b'{"a":{"S":1}}', b'{"a":1}', b'{"a":{"B":"%%"}}'])
def test_a_value_of_an_unknown_type_is_refused(tagged: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        read(tagged)


def test_zero_has_one_encoding() -> None:
    assert {format_number(zero) for zero in (0, Decimal(0), Decimal("-0"), Decimal("0E+5"))} == {"0"}
