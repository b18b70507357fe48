"""Convert items between Python and DynamoDB's JSON. There is no `float`, because DynamoDB's numbers are decimal."""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Struct

type Number = int | Decimal
type ValueSet = AbstractSet[str] | AbstractSet[Number] | AbstractSet[bytes]
type ItemValue = str | Number | bytes | bool | ValueSet | list[ItemValue] | dict[str, ItemValue] | None

# Values to send should be `ItemValue`, but mypy infers `object` for mixed literals. The codec checks them at runtime.
# The model that reads a decoded item checks its values.
type Attributes = Mapping[str, object]
type Item = dict[str, Any]


class AttributeValue(Struct, forbid_unknown_fields=True, gc=False):
    """A received attribute value: exactly one field is set. Without GC, because JSON has no cycles."""

    S: str | None = None
    N: str | None = None
    B: bytes | None = None
    BOOL: bool | None = None
    NULL: bool | None = None
    M: "dict[str, AttributeValue] | None" = None
    L: "list[AttributeValue] | None" = None
    SS: list[str] | None = None
    NS: list[str] | None = None
    BS: list[bytes] | None = None


type EncodedItem = dict[str, AttributeValue]


# Attribute values to send. Those without containers need no garbage collection.
class StringValue(Struct, gc=False):
    S: str


class NumberValue(Struct, gc=False):
    N: str


class BinaryValue(Struct, gc=False):
    B: bytes


class BoolValue(Struct, gc=False):
    BOOL: bool


class NullValue(Struct, gc=False):
    NULL: bool


class MapValue(Struct):
    M: dict[str, Struct]


class ListValue(Struct):
    L: list[Struct]


class StringSetValue(Struct):
    SS: list[str]


class NumberSetValue(Struct):
    NS: list[str]


class BinarySetValue(Struct):
    BS: list[bytes]


MAX_DIGITS = 38
# Every whole number between these, exclusive, has at most 38 digits.
_PLAIN_LOW, _PLAIN_HIGH = -(10**MAX_DIGITS), 10**MAX_DIGITS
_MIN_EXPONENT = -130
_MAX_EXPONENT = 125


class UnsupportedValueError(ValueError):
    """A value that DynamoDB cannot store exactly."""


_write = msgspec.json.Encoder().encode


def encode_item(item: Attributes) -> bytes:
    """Encode an item as JSON. The result is never shorter than the item's size in DynamoDB; the ledger relies on it."""
    values: Mapping[str, Any] = item
    try:
        # Text, whole numbers and bytes are the most frequent: they need no function call each.
        return _write(
            {
                name: StringValue(value)
                if (kind := type(value)) is str
                else NumberValue(str(value))
                if kind is int and _PLAIN_LOW < value < _PLAIN_HIGH
                else BinaryValue(value)
                if kind is bytes
                else encode_value(value)
                for name, value in values.items()
            }
        )
    except UnicodeEncodeError as error:
        raise UnsupportedValueError(f"text with {error.reason}") from error


def encode_value(value: object) -> Struct:
    """Encode one value. Subclasses, such as a string enum, are encoded as their base type."""
    known = _TAGS.get(type(value))
    if known is not None:
        return known(value)
    for kind in _ANCESTORS:
        if isinstance(value, kind):
            return _TAGS[kind](value)
    raise UnsupportedValueError(f"{type(value).__name__} cannot be stored: {value!r}")


def _tag_int(value: int) -> Struct:
    return NumberValue(str(int(value)) if _PLAIN_LOW < value < _PLAIN_HIGH else format_number(value))


def _tag_list(values: list[object]) -> Struct:
    return ListValue([encode_value(value) for value in values])


def _tag_map(values: Mapping[str, object]) -> Struct:
    return MapValue({name: encode_value(value) for name, value in values.items()})


def _tag_set(values: AbstractSet[Any]) -> Struct:
    """Encode a set. Members are sorted, so that equal items have equal bytes."""
    kinds = {_member_kind(value) for value in values}
    if len(kinds) != 1:
        raise UnsupportedValueError(
            f"A set must not be empty, and all members must have one type: {set(values)!r}"
        )
    kind = kinds.pop()
    if kind is Decimal:
        return NumberSetValue([format_number(value) for value in sorted(values)])
    return StringSetValue(sorted(values)) if kind is str else BinarySetValue(sorted(values))


def _member_kind(value: object) -> type:
    if isinstance(value, str | bytes):
        return str if isinstance(value, str) else bytes
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return Decimal
    raise UnsupportedValueError(f"{type(value).__name__} cannot be in a set: {value!r}")


def format_number(value: Number) -> str:
    """Format a number. Raises if it has more than 38 digits or is not between 1E-130 and 9.9…E+125."""
    decimal = Decimal(value)
    if not decimal.is_finite():
        raise UnsupportedValueError(f"{value} is not a finite number.")
    if not decimal:
        return "0"
    digits = "".join(map(str, decimal.as_tuple().digits)).strip("0")
    if len(digits) > MAX_DIGITS or not _MIN_EXPONENT <= decimal.adjusted() <= _MAX_EXPONENT:
        raise UnsupportedValueError(f"{value} has more than 38 digits or is not between 1E-130 and 9.9E+125.")
    return str(decimal)


_TAGS: dict[type, Callable[[Any], Struct]] = {
    str: StringValue,
    int: _tag_int,
    bytes: BinaryValue,
    bool: BoolValue,
    type(None): lambda _: NullValue(NULL=True),
    Decimal: lambda value: NumberValue(format_number(value)),
    dict: _tag_map,
    list: _tag_list,
    set: _tag_set,
    frozenset: _tag_set,
}
_ANCESTORS = (str, int, Decimal, bytes, dict, list, set, frozenset)


def decode_item(item: EncodedItem) -> Item:
    """Decode an item to plain Python. Text, numbers and bytes first, because they are the most frequent."""
    plain: Item = {}
    for name, value in item.items():
        if value.S is not None:
            plain[name] = value.S
        elif value.N is not None:
            plain[name] = parse_number(value.N)
        elif value.B is not None:
            plain[name] = value.B
        else:
            plain[name] = decode_value(value)
    return plain


def decode_value(value: AttributeValue) -> Any:  # noqa: ANN401 - the model that reads the item checks the type
    for field, read in _READERS:
        content = getattr(value, field)
        if content is not None:
            return read(content)
    raise UnsupportedValueError("attribute value without a type")


def parse_number(text: str) -> Number:
    try:
        return int(text)
    except ValueError:
        decimal = Decimal(text)
        whole = decimal.to_integral_value()
        return int(whole) if whole == decimal else decimal


_READERS: tuple[tuple[str, Callable[[Any], object]], ...] = (
    ("S", str),
    ("N", parse_number),
    ("B", bytes),
    ("BOOL", bool),
    ("NULL", lambda _: None),
    ("M", decode_item),
    ("L", lambda values: [decode_value(value) for value in values]),
    ("SS", set),
    ("NS", lambda texts: {parse_number(text) for text in texts}),
    ("BS", set),
)
