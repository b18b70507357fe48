"""DynamoDB's attribute values as they stand in JSON: a type's letter and the value.

Structs, because msgspec makes and writes them faster than dicts of one entry. `codec` is the way in and out.
"""

from msgspec import Struct


class AttributeValue(Struct, forbid_unknown_fields=True, gc=False):
    """An attribute value as it comes: exactly one of these is set. JSON has no cycles, so there is nothing to collect."""

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


# What is sent. These hold no containers, so the garbage collector need not look at them.
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
