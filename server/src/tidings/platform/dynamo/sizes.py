"""How many bytes an item is, and what that costs to write and to read.

Follows "DynamoDB item sizes and formats" of AWS. For numbers that page gives an estimate (a byte for two
significant digits, plus one); this follows what Amazon's DynamoDB Local counts, which is never less: pairs of
digits aligned at the decimal point, plus one byte, plus one if negative; zero is one byte.
"""

import base64
from collections.abc import Iterable, Mapping
from decimal import Decimal

MAX_ITEM_BYTES = 400 * 1024
WRITE_UNIT_BYTES = 1024
READ_UNIT_BYTES = 4096

COLLECTION_BYTES = 3
ELEMENT_BYTES = 1

type Value = Mapping[str, object]
"""An attribute value as it is on the wire: `{"S": "text"}`, `{"N": "1"}`, `{"L": [...]}`."""


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
            raise ValueError(f"not an attribute value: {kind} with {type(content).__name__}")


def number_bytes(text: str) -> int:
    number = Decimal(text)
    if not number:
        return 1
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(f"not a number that DynamoDB holds: {text}")  # noqa: TRY004 - NaN is a wrong value, not a wrong type
    written = "".join(map(str, digits))
    significant = written.rstrip("0")
    lowest = exponent + len(written) - len(significant)
    highest = lowest + len(significant)
    pairs = -(-highest // 2) - lowest // 2
    return pairs + 1 + (number < 0)


def write_units(size_bytes: int) -> int:
    """Units of one plain write; a write in a transaction takes twice as many."""
    return max(1, -(-size_bytes // WRITE_UNIT_BYTES))


def read_units(size_bytes: int, *, strong: bool) -> float:
    """Units of one read of that many bytes; a Query counts its items' bytes together."""
    units = max(1, -(-size_bytes // READ_UNIT_BYTES))
    return float(units) if strong else units / 2


def _text_bytes(text: str) -> int:
    return len(text.encode())


def _blob_bytes(content: bytes | str) -> int:
    return len(base64.b64decode(content)) if isinstance(content, str) else len(content)
