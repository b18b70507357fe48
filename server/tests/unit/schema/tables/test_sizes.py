"""Item sizes, example by example. That an engine counts the same is in tests/contract/tables."""

import pytest
from fixtures.encoded_sizes import item_bytes, value_bytes
from hypothesis import given
from hypothesis import strategies as st

from tidings.platform.dynamo.item_size import number_bytes, read_units, write_units
from tidings.schema.tables import limits


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": ""}, 0),
        ({"S": "hello"}, 5),
        ({"S": "é€😀"}, 9),
        ({"B": b"12345"}, 5),
        ({"B": "MTIzNDU="}, 5),
        ({"BOOL": False}, 1),
        ({"NULL": True}, 1),
        ({"L": []}, 3),
        ({"M": {}}, 3),
        ({"L": [{"N": "1"}]}, 6),
        ({"L": [{"S": "abc"}, {"S": "abc"}]}, 11),
        ({"M": {"kk": {"S": "abc"}}}, 9),
        ({"L": [{"L": []}]}, 7),
        ({"SS": ["ab", "cde"]}, 5),
        ({"NS": ["1", "22"]}, 4),
        ({"BS": [b"ab", b"cde"]}, 5),
    ],
)
def test_values_are_sized_as_published(value: dict[str, object], size: int) -> None:
    assert value_bytes(value) == size


NUMBERS = [
    ("0", 1),
    ("-0", 1),
    ("1", 2),
    ("99", 2),
    ("100", 2),
    ("110", 3),
    ("123", 3),
    ("1000", 2),
    ("12345", 4),
    ("1234567890", 6),
    ("12345678901234567890123456789012345678", 20),
    ("-1", 3),
    ("-123", 4),
    ("0.01", 2),
    ("0.123", 3),
    ("1.5", 3),
    ("-1.5", 4),
    ("1e100", 2),
    ("1.23e-5", 3),
    ("1731628800", 5),
]


@pytest.mark.parametrize(("text", "size"), NUMBERS)
def test_numbers_are_pairs_of_digits_and_a_byte_and_one_more_if_negative(text: str, size: int) -> None:
    assert number_bytes(text) == size


@given(st.integers(min_value=-(10**38) + 1, max_value=10**38 - 1))
def test_a_number_is_never_less_than_the_published_estimate_and_at_most_a_byte_more(number: int) -> None:
    significant = str(abs(number)).rstrip("0")
    published = -(-len(significant) // 2) + 1 + (number < 0)
    assert published <= number_bytes(str(number)) <= published + 1


def test_names_count_in_bytes_not_in_characters() -> None:
    assert item_bytes({"né": {"S": "a"}}) == 4


@pytest.mark.parametrize(
    "value", [{"S": 1}, {"N": 1}, {"X": "a"}, {"BOOL": "true"}, {"L": 3}, {"N": "NaN"}, {"N": "Infinity"}]
)
def test_an_invalid_attribute_value_is_refused(value: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="is not a"):
        value_bytes(value)


@pytest.mark.parametrize(("size", "units"), [(0, 1), (1, 1), (1024, 1), (1025, 2), (5120, 5)])
def test_writes_are_paid_by_the_kilobyte(size: int, units: int) -> None:
    assert write_units(size) == units


@pytest.mark.parametrize(
    ("size", "strong", "units"), [(0, True, 1), (4096, True, 1), (4097, True, 2), (1, False, 0.5)]
)
def test_reads_are_paid_by_four_kilobytes_and_half_if_eventual(size: int, strong: bool, units: float) -> None:  # noqa: FBT001 - a parameter of the test
    assert read_units(size, strong=strong) == units


def test_the_bounds_count_collections_as_the_sizes_do() -> None:
    assert limits.ListLimit(2, limits.TextLimit(3)).max_bytes == value_bytes(
        {"L": [{"S": "abc"}, {"S": "abc"}]}
    )
    assert limits.MapLimit(1, 2, limits.TextLimit(3)).max_bytes == value_bytes({"M": {"kk": {"S": "abc"}}})
