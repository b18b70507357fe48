"""Sizes and units: the quick way and the rules agree, and JSON is never shorter than what it holds."""

import json

import pytest
from fixtures.encoded_sizes import item_bytes
from hypothesis import given
from unit.platform.dynamo.generated import items

from tidings.platform.dynamo.codec import Item, encode_item
from tidings.platform.dynamo.item_size import (
    batch_get_units,
    encoded_item_bytes,
    estimate_write_units,
    get_units,
    larger_units,
    put_units,
    query_units,
)
from tidings.platform.dynamo.responses import Consumed, QueryReply

KB = 1024


def item_of(size_bytes: int) -> Item:
    item = {"pk": "a", "fill": "x" * (size_bytes - 7)}
    assert encoded_item_bytes(item) == size_bytes
    return item


@given(items)
def test_an_item_has_the_size_of_the_published_rules(item: Item) -> None:
    assert encoded_item_bytes(item) == item_bytes(json.loads(encode_item(item)))


@given(items)
def test_an_items_json_is_never_shorter_than_the_item(item: Item) -> None:
    assert len(encode_item(item)) >= encoded_item_bytes(item)


@pytest.mark.parametrize(
    ("size_bytes", "units"), [(20, 1), (KB, 1), (KB + 1, 2), (2 * KB, 2), (400 * KB, 400)]
)
def test_a_write_is_rounded_up_to_whole_kilobytes(size_bytes: int, units: int) -> None:
    item = item_of(size_bytes)
    assert put_units(encode_item(item), item) == units


def test_a_write_is_paid_by_the_larger_of_the_items_before_and_after() -> None:
    assert larger_units(1, item_of(3 * KB)) == 3
    assert larger_units(5, item_of(3 * KB)) == 5
    assert larger_units(2, None) == 2


def test_the_size_of_an_update_is_estimated_by_key_and_values() -> None:
    key, values = {"pk": "a"}, {":v": "x" * 2 * KB}
    assert estimate_write_units(encode_item(key), key, encode_item(values), values) == 3
    assert estimate_write_units(encode_item(key), key, b"", {}) == 1


@pytest.mark.parametrize(
    ("sizes_bytes", "together", "each"),
    [
        ([], 1, 0),
        ([20], 1, 1),
        ([4 * KB], 1, 1),
        ([4 * KB + 1], 2, 2),
        ([3 * KB, 3 * KB], 2, 2),
        ([100] * 10, 1, 10),
    ],
)
def test_a_query_is_rounded_once_and_a_batch_item_by_item(
    sizes_bytes: list[int], together: int, each: int
) -> None:
    found = [item_of(size_bytes) for size_bytes in sizes_bytes]
    answer_bytes = sum(len(encode_item(item)) for item in found)
    assert get_units(answer_bytes, found, strong=True) == together
    assert get_units(answer_bytes, found, strong=False) == together / 2
    assert batch_get_units(found, len(found), strong=True) == each
    assert batch_get_units(found, len(found), strong=False) == each / 2


def test_a_missing_item_of_a_batch_costs_the_least_that_a_read_can() -> None:
    assert batch_get_units([item_of(5 * KB)], asked=4, strong=True) == 2 + 3
    assert batch_get_units([], asked=4, strong=False) == 2


def test_a_page_costs_the_reported_units_or_is_estimated_by_its_bytes() -> None:
    reply = QueryReply(["…"], None, 1, 9_100, (Consumed(CapacityUnits=7.0),))
    silent = QueryReply(["…"], None, 1, 9_100, ())
    nothing = QueryReply(list[str](), None, 0, 40, (Consumed(CapacityUnits=0.0),))
    assert [query_units(each, strong=True) for each in (reply, silent, nothing)] == [7.0, 3.0, 1.0]
