"""An item that is changed by whoever has seen its last version: read, make the next, put it if nobody else did."""

from tidings.platform.dynamo.access import AccessPattern
from tidings.platform.dynamo.client import Client
from tidings.platform.dynamo.errors import ConditionFailedError, DynamoError
from tidings.platform.dynamo.outcomes import unwritten
from tidings.platform.dynamo.values import Attributes


async def put_version(client: Client, pattern: AccessPattern, item: Attributes, version: int) -> bool:
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
        unwritten(error)
    return True
