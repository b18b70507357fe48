"""An item that is changed by whoever has seen its last version: read, make the next, put it if nobody else did."""

from tidings.platform.dynamo.access import AccessPattern
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import ConditionFailedError, DynamoError
from tidings.platform.dynamo.outcomes import raise_write_error
from tidings.platform.dynamo.values import Attributes


async def put_if_version(
    client: DynamoClient, pattern: AccessPattern, item: Attributes, version: int
) -> bool:
    """`version` is the item's own; 1 is for one that is not there yet. False: somebody was quicker."""
    before = version - 1
    try:
        await client.put(
            pattern,
            item,
            condition="version = :v" if before else "attribute_not_exists(PK)",
            values={":v": before} if before else None,
        )
    except ConditionFailedError:
        return False
    except DynamoError as error:
        raise_write_error(error)
    return True
