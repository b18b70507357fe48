"""DynamoDB's attribute values as they stand in JSON: a type's letter and the value.

Structs, because msgspec makes and writes them faster than dicts of one entry. `codec` is the way in and out.
"""

from msgspec import Struct


class Tagged(Struct, forbid_unknown_fields=True, gc=False):
    """An attribute value as it comes: exactly one of these is set. JSON has no cycles, so there is nothing to collect."""

    S: str | None = None
    N: str | None = None
    B: bytes | None = None
    BOOL: bool | None = None
    NULL: bool | None = None
    M: "dict[str, Tagged] | None" = None
    L: "list[Tagged] | None" = None
    SS: list[str] | None = None
    NS: list[str] | None = None
    BS: list[bytes] | None = None


type TaggedItem = dict[str, Tagged]


# What is sent. These hold no containers, so the garbage collector need not look at them.
class Text(Struct, gc=False):
    S: str


class Num(Struct, gc=False):
    N: str


class Binary(Struct, gc=False):
    B: bytes


class Truth(Struct, gc=False):
    BOOL: bool


class Null(Struct, gc=False):
    NULL: bool


class Map(Struct):
    M: dict[str, Struct]


class Array(Struct):
    L: list[Struct]


class TextSet(Struct):
    SS: list[str]


class NumSet(Struct):
    NS: list[str]


class BinarySet(Struct):
    BS: list[bytes]
