"""The calls as the transport sees them: a target, a reader of the answer, and whether anything is changed."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from tidings.platform.dynamo import replies
from tidings.platform.dynamo.access import Operation

TARGET = "DynamoDB_20120810."


@dataclass(frozen=True, slots=True)
class Verb[T]:
    target: str
    read: Callable[[bytes], T]
    is_write: bool = False


GET = Verb(TARGET + Operation.GET_ITEM, replies.read_get)
QUERY = Verb(TARGET + Operation.QUERY, replies.read_query)
BATCH_GET = Verb(TARGET + Operation.BATCH_GET_ITEM, replies.read_batch_get)
TRANSACT_GET = Verb(TARGET + Operation.TRANSACT_GET_ITEMS, replies.read_transact_get)
PUT = Verb(TARGET + Operation.PUT_ITEM, replies.read_write, is_write=True)
UPDATE = Verb(TARGET + Operation.UPDATE_ITEM, replies.read_write, is_write=True)
DELETE = Verb(TARGET + Operation.DELETE_ITEM, replies.read_write, is_write=True)
BATCH_WRITE = Verb(TARGET + Operation.BATCH_WRITE_ITEM, replies.read_batch_write, is_write=True)
TRANSACT_WRITE = Verb(TARGET + Operation.TRANSACT_WRITE_ITEMS, replies.read_write, is_write=True)
DESCRIBE_TABLE = Verb(TARGET + "DescribeTable", msgspec.json.decode)
DESCRIBE_TTL = Verb(TARGET + "DescribeTimeToLive", msgspec.json.decode)
