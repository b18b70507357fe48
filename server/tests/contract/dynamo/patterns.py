"""The access patterns that these tests call by, all on one table with one index."""

from tidings.platform.dynamo.operations import AccessPattern, Consistency, Operation

TABLE = "things"
INDEX = "colour-index"


def pattern(
    operation: Operation, consistency: Consistency, index: str | None = None, name: str = ""
) -> AccessPattern:
    return AccessPattern(
        name or f"{operation}.{consistency}.{index}", (TABLE,), operation, consistency, "for tests", index
    )


GET = pattern(Operation.GET_ITEM, Consistency.STRONG)
GET_EVENTUAL = pattern(Operation.GET_ITEM, Consistency.EVENTUAL)
QUERY = pattern(Operation.QUERY, Consistency.STRONG)
QUERY_EVENTUAL = pattern(Operation.QUERY, Consistency.EVENTUAL)
QUERY_INDEX = pattern(Operation.QUERY, Consistency.EVENTUAL, INDEX)
BATCH_GET = pattern(Operation.BATCH_GET_ITEM, Consistency.STRONG)
BATCH_GET_EVENTUAL = pattern(Operation.BATCH_GET_ITEM, Consistency.EVENTUAL)
PUT = pattern(Operation.PUT_ITEM, Consistency.WRITE)
UPDATE = pattern(Operation.UPDATE_ITEM, Consistency.WRITE)
DELETE = pattern(Operation.DELETE_ITEM, Consistency.WRITE)
BATCH_WRITE = pattern(Operation.BATCH_WRITE_ITEM, Consistency.WRITE)
TRANSACT_WRITE = pattern(Operation.TRANSACT_WRITE_ITEMS, Consistency.WRITE)
