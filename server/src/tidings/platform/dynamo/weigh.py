"""Item sizes of plain Python values, and what they cost. The rules are `sizes`'s; this spares it the detour by JSON.

An item's JSON is never shorter than the item. So JSON that fits into one unit is one unit, and nearly all do.
"""

from collections.abc import Iterable, Mapping, Sized
from decimal import Decimal
from typing import Any

from tidings.platform.dynamo.replies import QueryReply
from tidings.platform.dynamo.sizes import (
    COLLECTION_BYTES,
    ELEMENT_BYTES,
    READ_UNIT_BYTES,
    WRITE_UNIT_BYTES,
    number_bytes,
    read_units,
    write_units,
)
from tidings.platform.dynamo.values import Attributes

_TWO_DIGITS = 100


def encoded_item_bytes(item: Attributes) -> int:
    """Text, bytes and whole numbers are nearly everything: they cost no call for each."""
    total = 0
    values: Mapping[str, Any] = item
    for name, value in values.items():
        total += len(name) if name.isascii() else len(name.encode())
        if (kind := type(value)) is str:
            total += len(value) if value.isascii() else len(value.encode())
        elif kind is bytes:
            total += len(value)
        elif kind is int and 0 < value < _TWO_DIGITS:
            total += 2
        else:
            total += encoded_value_bytes(value)
    return total


def encoded_value_bytes(value: object) -> int:
    match value:
        case str():
            return _text_weight(value)
        case bytes():
            return len(value)
        case None | bool():
            return 1
        case int():
            return _whole_weight(value)
        case Decimal():
            return number_bytes(str(value))
        case _:
            return _collection_weight(value)


def _whole_weight(value: int) -> int:
    """`number_bytes` for the common case, ten times quicker."""
    if not value:
        return 1
    digits = str(value).lstrip("-")
    zeros = len(digits) - len(digits.rstrip("0"))
    return -(-len(digits) // 2) - zeros // 2 + 1 + (value < 0)


def _collection_weight(value: object) -> int:
    match value:
        case Mapping():
            return COLLECTION_BYTES + ELEMENT_BYTES * len(value) + encoded_item_bytes(value)
        case list():
            return COLLECTION_BYTES + ELEMENT_BYTES * len(value) + sum(map(encoded_value_bytes, value))
        case set() | frozenset():
            return sum(map(encoded_value_bytes, value))
        case _:
            raise TypeError(f"{type(value).__name__} is not in items")


def _text_weight(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def put_units(encoded: Sized, item: Attributes) -> int:
    """Write units of an item, given its JSON."""
    return 1 if len(encoded) <= WRITE_UNIT_BYTES else write_units(encoded_item_bytes(item))


def larger_units(units: int, other: Attributes | None) -> int:
    """A write is paid by the larger of the item before and the item after, as far as they are known."""
    return units if other is None else max(units, write_units(encoded_item_bytes(other)))


def estimate_write_units(
    key_encoded: Sized, key: Attributes, values_encoded: Sized, values: Attributes
) -> int:
    """An estimate, for a write that shows neither the item before nor after: its key and the values it brings."""
    if len(key_encoded) + len(values_encoded) <= WRITE_UNIT_BYTES:
        return 1
    return write_units(encoded_item_bytes(key) + encoded_item_bytes(values))


def get_units(answer_bytes: int, items: Iterable[Attributes], *, strong: bool) -> float:
    """Read units of items that are counted together."""
    if answer_bytes <= READ_UNIT_BYTES:
        return read_units(0, strong=strong)
    return read_units(sum(map(encoded_item_bytes, items)), strong=strong)


def query_units[T](page: QueryReply[T], *, strong: bool) -> float:
    """As the engine says, which every Query asks: weighing hundreds of items would cost more than reading them.

    One that counts nothing for a page without items is not believed. Of one that says nothing the answer's bytes are
    taken, which are never fewer than those that were read and shown.
    """
    if not page.consumed:
        return read_units(page.size_bytes, strong=strong)
    return max(read_units(0, strong=strong), sum(part.CapacityUnits for part in page.consumed))


def batch_get_units(items: Iterable[Attributes], asked: int, *, strong: bool) -> float:
    """Read units of items that are rounded one by one, as in a batch; one that is missing costs the least."""
    units = [read_units(encoded_item_bytes(item), strong=strong) for item in items]
    return sum(units) + (asked - len(units)) * read_units(0, strong=strong)
