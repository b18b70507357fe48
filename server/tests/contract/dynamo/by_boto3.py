"""Make a call with boto3, the reference, and convert the outcome to the types of the Tidings client."""

from decimal import Decimal
from typing import Any

from boto3.dynamodb.types import Binary, TypeDeserializer, TypeSerializer
from botocore.exceptions import ClientError
from contract.dynamo.by_us import repr_of_key
from contract.dynamo.calls import Call, Outcome, Update
from types_boto3_dynamodb import DynamoDBClient

from tidings.platform.dynamo.operations import Consistency, Operation
from tidings.platform.dynamo.requests import Check, Delete, Put, TransactAction
from tidings.platform.dynamo.requests import Update as UpdateAction

_METHODS = {
    Operation.GET_ITEM: "get_item",
    Operation.PUT_ITEM: "put_item",
    Operation.UPDATE_ITEM: "update_item",
    Operation.DELETE_ITEM: "delete_item",
    Operation.QUERY: "query",
    Operation.BATCH_GET_ITEM: "batch_get_item",
    Operation.BATCH_WRITE_ITEM: "batch_write_item",
    Operation.TRANSACT_WRITE_ITEMS: "transact_write_items",
}


def call_by_boto3(client: DynamoDBClient, table: str, call: Call) -> Outcome:
    try:
        answer = getattr(client, _METHODS[call.pattern.operation])(**_arguments(table, call))
    except ClientError as error:
        parameters: Any = error.response
        item = parameters.get("Item")
        reasons = tuple(
            (reason["Code"], reason.get("Message") or "", _maybe_plain(reason.get("Item")))
            for reason in parameters.get("CancellationReasons", ())
        )
        message = (
            parameters["Error"].get("Message") or parameters.get("message") or parameters.get("Message") or ""
        )
        return Outcome(
            code=parameters["Error"]["Code"], message=message, item=_maybe_plain(item), reasons=reasons
        )
    return Outcome(_value(table, call, answer))


def tagged(item: Any) -> dict[str, Any]:
    return {name: TypeSerializer().serialize(value) for name, value in item.items()}


def plain(item: dict[str, Any]) -> dict[str, Any]:
    return {name: _plain_value(TypeDeserializer().deserialize(value)) for name, value in item.items()}


def _plain_value(value: Any) -> Any:
    match value:
        case Binary():
            return value.value  # type: ignore[attr-defined]  # the stubs leave it out
        case Decimal():
            return int(value) if value == value.to_integral_value() else value
        case dict():
            return {name: _plain_value(inner) for name, inner in value.items()}
        case list():
            return [_plain_value(inner) for inner in value]
        case set():
            return {_plain_value(inner) for inner in value}
        case _:
            return value


def _maybe_plain(item: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if item is None else plain(item)


def _arguments(table: str, call: Call) -> dict[str, Any]:
    is_strong = call.pattern.consistency is Consistency.STRONG
    match call.pattern.operation:
        case Operation.GET_ITEM:
            return _single(table, call) | {"Key": tagged(call.what), "ConsistentRead": is_strong}
        case Operation.PUT_ITEM:
            return _single(table, call) | {"Item": tagged(call.what)}
        case Operation.UPDATE_ITEM:
            assert isinstance(call.what, Update)
            key = {"Key": tagged(call.what.key), "UpdateExpression": call.what.expression}
            return _single(table, call) | key
        case Operation.DELETE_ITEM:
            return _single(table, call) | {"Key": tagged(call.what)}
        case Operation.QUERY:
            return _query(table, call, is_strong=is_strong)
        case _:
            return _several(table, call, is_strong=is_strong)


def _several(table: str, call: Call, *, is_strong: bool) -> dict[str, Any]:
    match call.pattern.operation:
        case Operation.BATCH_GET_ITEM:
            keys = {"Keys": [tagged(key) for key in call.what], "ConsistentRead": is_strong}
            return {"RequestItems": {table: keys | _expressions(call.options)}}
        case Operation.BATCH_WRITE_ITEM:
            puts = [{"PutRequest": {"Item": tagged(item)}} for item in call.what.get("puts", ())]
            deletes = [{"DeleteRequest": {"Key": tagged(key)}} for key in call.what.get("deletes", ())]
            return {"RequestItems": {table: puts + deletes}}
        case _:
            token = {"ClientRequestToken": call.options["token"]} if "token" in call.options else {}
            return {"TransactItems": [_action(table, action) for action in call.what]} | token


_EXPRESSIONS = {
    "projection": "ProjectionExpression",
    "condition": "ConditionExpression",
    "names": "ExpressionAttributeNames",
    "returns": "ReturnValues",
}


def _expressions(options: dict[str, Any]) -> dict[str, Any]:
    parameters = {
        theirs: options[ours] for ours, theirs in _EXPRESSIONS.items() if options.get(ours) is not None
    }
    if options.get("values") is not None:
        parameters["ExpressionAttributeValues"] = tagged(options["values"])
    if options.get("condition") is not None:
        parameters["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return parameters


def _single(table: str, call: Call) -> dict[str, Any]:
    return {"TableName": table} | _expressions(call.options)


def _query(table: str, call: Call, *, is_strong: bool) -> dict[str, Any]:
    query = call.what
    parameters: dict[str, Any] = {
        "TableName": table,
        "KeyConditionExpression": query.condition,
        "ScanIndexForward": not query.backward,
        "ConsistentRead": is_strong,
        "IndexName": call.pattern.index,
        "FilterExpression": query.filter,
        "Limit": query.limit,
        "ExclusiveStartKey": None if query.start is None else tagged(query.start),
    }
    shared = {"values": query.values, "names": query.names, "projection": query.projection}
    return {name: value for name, value in parameters.items() if value is not None} | _expressions(shared)


def _action(table: str, action: TransactAction) -> dict[str, Any]:
    options = {"condition": action.condition, "names": action.names, "values": action.values}
    parameters = {"TableName": table} | _expressions(options)
    match action:
        case Put():
            return {"Put": parameters | {"Item": tagged(action.item)}}
        case UpdateAction():
            return {"Update": parameters | {"Key": tagged(action.key), "UpdateExpression": action.update}}
        case Delete():
            return {"Delete": parameters | {"Key": tagged(action.key)}}
        case Check():
            return {"ConditionCheck": parameters | {"Key": tagged(action.key)}}
        case _:
            raise TypeError(action)


def _value(table: str, call: Call, answer: Any) -> Any:
    match call.pattern.operation:
        case Operation.GET_ITEM:
            return _maybe_plain(answer.get("Item"))
        case Operation.QUERY:
            items = [plain(item) for item in answer["Items"]]
            return items, _maybe_plain(answer.get("LastEvaluatedKey")), answer["ScannedCount"]
        case Operation.BATCH_GET_ITEM:
            assert not answer["UnprocessedKeys"]
            return sorted((plain(item) for item in answer["Responses"][table]), key=repr_of_key)
        case _:
            return _maybe_plain(answer.get("Attributes"))
