"""Sizes of items in bytes, and the units that writes and reads of them cost.

Follows "DynamoDB item sizes and formats" of AWS. For numbers that page gives an estimate: a byte for two significant
digits, plus one. This file counts as Amazon's DynamoDB Local does, which is never less: pairs of digits aligned at the
decimal point, plus one byte, plus one if negative. Zero is one byte.
"""

import base64
from collections.abc import Iterable, Mapping, Sized
from decimal import Decimal
from typing import Any

from tidings.platform.dynamo.codec import Attributes
from tidings.platform.dynamo.responses import QueryReply

MAX_ITEM_BYTES = 400 * 1024
WRITE_UNIT_BYTES = 1024
READ_UNIT_BYTES = 4096

COLLECTION_BYTES = 3
ELEMENT_BYTES = 1

type Value = Mapping[str, object]
"""An encoded attribute value: `{"S": "text"}`, `{"N": "1"}`, `{"L": [...]}`."""


def item_bytes(item: Mapping[str, Value]) -> int:
    return sum(_text_bytes(name) + value_bytes(value) for name, value in item.items())


def value_bytes(value: Value) -> int:
    ((kind, content),) = value.items()
    match kind, content:
        case (("SS" | "NS" | "BS"), Iterable()):
            return sum(value_bytes({kind[0]: element}) for element in content)
        case "L", Iterable():
            return COLLECTION_BYTES + sum(ELEMENT_BYTES + value_bytes(element) for element in content)
        case "M", Mapping():
            return COLLECTION_BYTES + ELEMENT_BYTES * len(content) + item_bytes(content)
        case _:
            return _scalar_bytes(kind, content)


def _scalar_bytes(kind: str, content: object) -> int:
    match kind, content:
        case "S", str():
            return _text_bytes(content)
        case "N", str():
            return number_bytes(content)
        case "B", bytes() | str():
            return _blob_bytes(content)
        case (("BOOL" | "NULL"), bool()):
            return 1
        case _:
            raise ValueError(f"{kind} with {type(content).__name__} is not an attribute value.")


def number_bytes(text: str) -> int:
    number = Decimal(text)
    if not number:
        return 1
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(f"DynamoDB cannot store the number {text}.")  # noqa: TRY004 - NaN is a wrong value, not a wrong type
    written = "".join(map(str, digits))
    significant = written.rstrip("0")
    lowest = exponent + len(written) - len(significant)
    highest = lowest + len(significant)
    pairs = -(-highest // 2) - lowest // 2
    return pairs + 1 + (number < 0)


def write_units(size_bytes: int) -> int:
    """Return the units of one write. A write in a transaction takes twice as many."""
    return max(1, -(-size_bytes // WRITE_UNIT_BYTES))


def read_units(size_bytes: int, *, strong: bool) -> float:
    """Return the units of one read. A Query adds the bytes of all its items."""
    units = max(1, -(-size_bytes // READ_UNIT_BYTES))
    return float(units) if strong else units / 2


def _text_bytes(text: str) -> int:
    return len(text.encode())


def _blob_bytes(content: bytes | str) -> int:
    return len(base64.b64decode(content)) if isinstance(content, str) else len(content)


_TWO_DIGITS = 100


def encoded_item_bytes(item: Attributes) -> int:
    """Return the size of an item. Text, bytes and small numbers, the most frequent, need no function call each."""
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
            return _text_size(value)
        case bytes():
            return len(value)
        case None | bool():
            return 1
        case int():
            return _whole_number_size(value)
        case Decimal():
            return number_bytes(str(value))
        case _:
            return _collection_size(value)


def _whole_number_size(value: int) -> int:
    """Compute `number_bytes` of a whole number, ten times faster."""
    if not value:
        return 1
    digits = str(value).lstrip("-")
    zeros = len(digits) - len(digits.rstrip("0"))
    return -(-len(digits) // 2) - zeros // 2 + 1 + (value < 0)


def _collection_size(value: object) -> int:
    match value:
        case Mapping():
            return COLLECTION_BYTES + ELEMENT_BYTES * len(value) + encoded_item_bytes(value)
        case list():
            return COLLECTION_BYTES + ELEMENT_BYTES * len(value) + sum(map(encoded_value_bytes, value))
        case set() | frozenset():
            return sum(map(encoded_value_bytes, value))
        case _:
            raise TypeError(f"{type(value).__name__} is not a type of items.")


def _text_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def put_units(encoded: Sized, item: Attributes) -> int:
    """Return the write units of an item, given its JSON."""
    return 1 if len(encoded) <= WRITE_UNIT_BYTES else write_units(encoded_item_bytes(item))


def larger_units(units: int, other: Attributes | None) -> int:
    """Return the larger units: a write costs the larger of the items before and after, as far as they are known."""
    return units if other is None else max(units, write_units(encoded_item_bytes(other)))


def estimate_write_units(
    key_encoded: Sized, key: Attributes, values_encoded: Sized, values: Attributes
) -> int:
    """Estimate the units of a write from its key and values, when the items before and after are unknown."""
    if len(key_encoded) + len(values_encoded) <= WRITE_UNIT_BYTES:
        return 1
    return write_units(encoded_item_bytes(key) + encoded_item_bytes(values))


def get_units(answer_bytes: int, items: Iterable[Attributes], *, strong: bool) -> float:
    """Return the read units of items that are counted together."""
    if answer_bytes <= READ_UNIT_BYTES:
        return read_units(0, strong=strong)
    return read_units(sum(map(encoded_item_bytes, items)), strong=strong)


def query_units[T](page: QueryReply[T], *, strong: bool) -> float:
    """Return the read units of a page as the engine reports them: measuring all items would cost more than reading them.

    An empty page costs at least the minimum, whatever the engine reports. If it reports nothing, the size of the answer
    is used, which is at least the size of the returned items.
    """
    if not page.consumed:
        return read_units(page.size_bytes, strong=strong)
    return max(read_units(0, strong=strong), sum(part.CapacityUnits for part in page.consumed))


def batch_get_units(items: Iterable[Attributes], asked: int, *, strong: bool) -> float:
    """Return the read units of items that are rounded separately, as in a batch. A missing item costs the minimum."""
    units = [read_units(encoded_item_bytes(item), strong=strong) for item in items]
    return sum(units) + (asked - len(units)) * read_units(0, strong=strong)
