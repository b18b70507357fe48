"""The calls as the transport sees them: a target, a reader of the answer, and whether anything is changed."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from tidings.platform.dynamo import replies
from tidings.platform.dynamo.access import Operation

TARGET = "DynamoDB_20120810."


@dataclass(frozen=True, slots=True)
class OperationSpec[T]:
    target: str
    read: Callable[[bytes], T]
    is_write: bool = False


GET = OperationSpec(TARGET + Operation.GET_ITEM, replies.read_get)
QUERY = OperationSpec(TARGET + Operation.QUERY, replies.read_query)
BATCH_GET = OperationSpec(TARGET + Operation.BATCH_GET_ITEM, replies.read_batch_get)
TRANSACT_GET = OperationSpec(TARGET + Operation.TRANSACT_GET_ITEMS, replies.read_transact_get)
PUT = OperationSpec(TARGET + Operation.PUT_ITEM, replies.read_write, is_write=True)
UPDATE = OperationSpec(TARGET + Operation.UPDATE_ITEM, replies.read_write, is_write=True)
DELETE = OperationSpec(TARGET + Operation.DELETE_ITEM, replies.read_write, is_write=True)
BATCH_WRITE = OperationSpec(TARGET + Operation.BATCH_WRITE_ITEM, replies.read_batch_write, is_write=True)
TRANSACT_WRITE = OperationSpec(TARGET + Operation.TRANSACT_WRITE_ITEMS, replies.read_write, is_write=True)
DESCRIBE_TABLE = OperationSpec(TARGET + "DescribeTable", msgspec.json.decode)
DESCRIBE_TTL = OperationSpec(TARGET + "DescribeTimeToLive", msgspec.json.decode)
