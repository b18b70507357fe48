"""What the items of a Query are read into: plain dictionaries, or straight from the bytes into structs.

For pages of hundreds, of which the reader knows every attribute: a struct names those that it wants, each as one of
the types here. What it does not name is passed over; what is of another type makes the answer unreadable.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec import Struct

from tidings.platform.dynamo import replies, verbs
from tidings.platform.dynamo.codec import encode_item
from tidings.platform.dynamo.replies import QueryReply
from tidings.platform.dynamo.tagged import BinaryValue, BoolValue, StringValue
from tidings.platform.dynamo.values import Item
from tidings.platform.dynamo.verbs import OperationSpec

__all__ = ["PLAIN", "BinaryValue", "BoolValue", "IntegerAttribute", "ItemType", "StringValue", "item_type"]


class IntegerAttribute(Struct, gc=False):
    """A whole number. It stands in JSON as a text, and comes as what it is."""

    N: int


@dataclass(frozen=True, slots=True)
class ItemType[T]:
    """`of`: an item that is at hand, for those who have it without its bytes."""

    verb: OperationSpec[QueryReply[T]]
    of: Callable[[Item], T]


PLAIN: Final[ItemType[Item]] = ItemType(verbs.QUERY, lambda item: item)


def item_type[T: Struct](kind: type[T]) -> ItemType[T]:
    # not strict: of all that this allows there is one thing in DynamoDB's JSON, a text that is a number
    read_one = msgspec.json.Decoder(kind, strict=False).decode
    return ItemType(
        OperationSpec(verbs.QUERY.target, replies.query_reader(kind)),
        lambda item: read_one(encode_item(item)),
    )
