"""A request of DynamoDB's protocol: operation, tables and body."""

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, final

from faults.proxy.http_message import Message, compose

type Body = dict[str, Any]

WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem"})
TRANSACTIONS = frozenset({"TransactWriteItems", "TransactGetItems"})
ITERATOR_OPERATIONS = frozenset({"GetShardIterator", "GetRecords"})
MAX_ITERATORS = 10_000


def decode(raw: bytes) -> Body:
    """Decode a JSON object.

    Any other body counts as an empty object: the proxy matches bodies, it does not validate them.
    """
    try:
        body = json.loads(raw)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def encode(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()


@final
class ShardIterators:
    """Map shard iterators to tables. Iterators are opaque, so the answers that contain them are recorded."""

    def __init__(self) -> None:
        self._tables: OrderedDict[str, str] = OrderedDict()

    def table(self, iterator: str) -> str | None:
        return self._tables.get(iterator)

    def learn(self, request: "Request", answer: Message) -> None:
        body = decode(answer.body)
        iterator = body.get("ShardIterator") or body.get("NextShardIterator")
        if isinstance(iterator, str) and request.tables:
            self._tables[iterator] = request.tables[0]
        while len(self._tables) > MAX_ITERATORS:
            self._tables.popitem(last=False)


@final
class Request:
    """One request in flight. Its JSON is decoded on first use."""

    def __init__(self, message: Message, iterators: ShardIterators) -> None:
        self.message = message
        self._iterators = iterators

    @cached_property
    def operation(self) -> str:
        """Return `PutItem` for the target `DynamoDB_20120810.PutItem`, or an empty string if there is no target."""
        return self.message.headers.get(b"x-amz-target", b"").rpartition(b".")[2].decode("latin-1")

    @cached_property
    def body(self) -> Body:
        return decode(self.message.body)

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """Return each table once, in the order of the body. A malformed body has none; the engine reports the error."""
        try:
            return tuple(dict.fromkeys(self._named()))
        except (AttributeError, KeyError, TypeError):
            return ()

    def with_body(self, body: Body) -> "Request":
        """Return the same call with another body. Its signature becomes invalid, which local engines do not check."""
        headers = {**self.message.headers, b"accept-encoding": b"identity"}
        return Request(compose(self.message.start_line, headers, encode(body)), self._iterators)

    def _named(self) -> Iterator[str]:
        body = self.body
        for key in ("TableName", "StreamArn"):
            if isinstance(body.get(key), str):
                yield _plain_name(body[key])
        for action in body.get("TransactItems", ()):
            yield from (_plain_name(entry["TableName"]) for entry in action.values())
        yield from (_plain_name(name) for name in body.get("RequestItems", ()))
        known = self._iterators.table(str(body.get("ShardIterator")))
        if known is not None:
            yield known


def _plain_name(name: str) -> str:
    """Return the table name of an ARN such as `arn:aws:dynamodb:region:account:table/NAME/stream/…`."""
    return name.split("/")[1] if name.startswith("arn:") and "/" in name else name
