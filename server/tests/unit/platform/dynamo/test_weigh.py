"""Sizes and units: the quick way and the rules agree, and JSON is never shorter than what it holds."""

import json

import pytest
from hypothesis import given
from unit.platform.dynamo.generated import items

from tidings.platform.dynamo.codec import encode
from tidings.platform.dynamo.replies import Consumed, QueryReply
from tidings.platform.dynamo.sizes import item_bytes
from tidings.platform.dynamo.values import Item
from tidings.platform.dynamo.weigh import (
    item_weight,
    larger,
    page_units,
    read_each,
    read_one,
    touched,
    written,
)

KB = 1024


def item_of(size_bytes: int) -> Item:
    item = {"pk": "a", "fill": "x" * (size_bytes - 7)}
    assert item_weight(item) == size_bytes
    return item


@given(items)
def test_an_item_weighs_what_the_published_rules_say(item: Item) -> None:
    assert item_weight(item) == item_bytes(json.loads(encode(item)))


@given(items)
def test_an_items_json_is_never_shorter_than_the_item(item: Item) -> None:
    assert len(encode(item)) >= item_weight(item)


@pytest.mark.parametrize(
    ("size_bytes", "units"), [(20, 1), (KB, 1), (KB + 1, 2), (2 * KB, 2), (400 * KB, 400)]
)
def test_a_write_is_rounded_up_to_whole_kilobytes(size_bytes: int, units: int) -> None:
    item = item_of(size_bytes)
    assert written(encode(item), item) == units


def test_a_write_is_paid_by_the_larger_of_the_items_before_and_after() -> None:
    assert larger(1, item_of(3 * KB)) == 3
    assert larger(5, item_of(3 * KB)) == 5
    assert larger(2, None) == 2


def test_an_update_is_guessed_by_its_key_and_its_values() -> None:
    key, values = {"pk": "a"}, {":v": "x" * 2 * KB}
    assert touched(encode(key), key, encode(values), values) == 3
    assert touched(encode(key), key, b"", {}) == 1


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
    answer_bytes = sum(len(encode(item)) for item in found)
    assert read_one(answer_bytes, found, strong=True) == together
    assert read_one(answer_bytes, found, strong=False) == together / 2
    assert read_each(found, len(found), strong=True) == each
    assert read_each(found, len(found), strong=False) == each / 2


def test_a_missing_item_of_a_batch_costs_the_least_that_a_read_can() -> None:
    assert read_each([item_of(5 * KB)], asked=4, strong=True) == 2 + 3
    assert read_each([], asked=4, strong=False) == 2


def test_a_page_is_what_the_engine_says_and_its_bytes_if_it_says_nothing() -> None:
    told = QueryReply(["…"], None, 1, 9_100, (Consumed(CapacityUnits=7.0),))
    silent = QueryReply(["…"], None, 1, 9_100, ())
    nothing = QueryReply(list[str](), None, 0, 40, (Consumed(CapacityUnits=0.0),))
    assert [page_units(each, strong=True) for each in (told, silent, nothing)] == [7.0, 3.0, 1.0]
