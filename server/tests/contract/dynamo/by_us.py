"""Makes a call with our client."""

from typing import Any

from contract.dynamo.calls import Call, Outcome, Update

from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import ConditionFailedError, DynamoError, TransactionCancelledError
from tidings.platform.dynamo.operations import Operation


async def call_by_us(client: DynamoClient, call: Call) -> Outcome:
    try:
        return Outcome(await _value(client, call))
    except ConditionFailedError as error:
        return Outcome(code=error.code, message=error.message, item=error.item)
    except TransactionCancelledError as error:
        reasons = tuple((reason.code, reason.message, reason.item) for reason in error.reasons)
        return Outcome(code=error.code, message=error.message, reasons=reasons)
    except DynamoError as error:
        return Outcome(code=error.code, message=error.message)


async def _value(client: DynamoClient, call: Call) -> Any:
    match call.pattern.operation:
        case Operation.GET_ITEM:
            return await client.get(call.pattern, call.what, **call.options)
        case Operation.PUT_ITEM:
            return (await client.put(call.pattern, call.what, **call.options)).attributes
        case Operation.UPDATE_ITEM:
            assert isinstance(call.what, Update)
            update = client.update(call.pattern, call.what.key, call.what.expression, **call.options)
            return (await update).attributes
        case Operation.DELETE_ITEM:
            return (await client.delete(call.pattern, call.what, **call.options)).attributes
        case Operation.QUERY:
            page = await client.query(call.pattern, call.what, **call.options)
            return page.items, page.start, page.scanned
        case _:
            return await _several(client, call)


async def _several(client: DynamoClient, call: Call) -> Any:
    match call.pattern.operation:
        case Operation.BATCH_GET_ITEM:
            found = await client.batch_get(call.pattern, call.what, **call.options)
            return sorted(found, key=repr_of_key)
        case Operation.BATCH_WRITE_ITEM:
            return await client.batch_write(call.pattern, **call.what)
        case _:
            return (await client.transact_write(call.pattern, call.what, **call.options)).attributes


def repr_of_key(item: dict[str, Any]) -> str:
    return f"{item.get('pk')} {item.get('sk')}"
