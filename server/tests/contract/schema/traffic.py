"""Requests to a real engine, counted by partition key, and a check that no key's load grows with the population."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.operations import OperationSpec
from tidings.schema.tables.declaration import BY_NAME

HEADROOM = 1.5
CHANCE = 6
"""Items that can have the same hash bucket at random, at the sizes of these tests."""

_PARTITION = re.compile(r"\(?(\S+) = (:\w+)")


@dataclass
class Traffic:
    """Counts reads and writes of each partition key: `requests[kind][key]`; a Query counts once.

    A kind is a declared spelling of a partition key, of a table or an index.
    """

    prefix: str
    requests: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def busiest(self, kind: str) -> tuple[str, int]:
        return max(self.requests[kind].items(), key=lambda each: each[1], default=("", 0))

    def count(self, body: bytes) -> None:
        for table, key in self._touched(json.loads(body)):
            self.requests[kind_of(table, key)][key] += 1

    def _touched(self, body: Any) -> Iterator[tuple[str, str]]:
        if "KeyConditionExpression" in body:
            condition = _PARTITION.match(body["KeyConditionExpression"])
            assert condition, body["KeyConditionExpression"]
            index = body.get("IndexName")
            name = self._name(body) + (f" {index}" if index else "")
            yield name, body["ExpressionAttributeValues"][condition[2]]["S"]
        elif "RequestItems" in body:
            for table, asked in body["RequestItems"].items():
                for one in asked["Keys"] if isinstance(asked, dict) else map(_inner, asked):
                    yield self._of({"TableName": table, "Key": one.get("Item") or one.get("Key") or one})
        elif "TransactItems" in body:
            yield from (self._of(_inner(one)) for one in body["TransactItems"])
        elif "TableName" in body:
            yield self._of(body)

    def _of(self, body: Mapping[str, Any]) -> tuple[str, str]:
        table = self._name(body)
        item = body.get("Item") or body["Key"]
        return table, item[BY_NAME[table].partition.name]["S"]

    def _name(self, body: Mapping[str, Any]) -> str:
        return str(body["TableName"]).removeprefix(self.prefix)


def _inner(wrapped: Mapping[str, Any]) -> Any:
    (inner,) = wrapped.values()
    return inner


def kind_of(table: str, key: str) -> str:
    """Return the declared template of this key. Fails for a key that no item of the table has."""
    name, _, index = table.partition(" ")
    declared = BY_NAME[name]
    if index:
        return table
    (kind,) = {
        item.partition.text for item in declared.items if re.fullmatch(_spelled(item.partition.text), key)
    }
    return f"{name} {kind}"


def _spelled(template: str) -> str:
    return re.sub(r"\\{\w+\\}", "[^#]+", re.escape(template))


@contextmanager
def watched(client: DynamoClient, prefix: str) -> Iterator[Traffic]:
    """Count every request of this client inside the block."""
    traffic, channel = Traffic(prefix), client._channel
    call = channel.call

    async def counted[T](verb: OperationSpec[T], body: bytes, *args: Any, **more: Any) -> tuple[T, bool]:
        traffic.count(body)
        return await call(verb, body, *args, **more)

    channel.call = counted  # type: ignore[method-assign]  # the tests' own look at the wire
    try:
        yield traffic
    finally:
        channel.call = call  # type: ignore[method-assign]


def concentrated(few: Traffic, many: Traffic) -> dict[str, tuple[int, int]]:
    """Return the kinds of keys whose busiest key gets more requests with more users, with both counts."""
    busiest = {kind: (few.busiest(kind)[1], many.busiest(kind)[1]) for kind in many.requests}
    return {
        kind: (before, after)
        for kind, (before, after) in busiest.items()
        if after > HEADROOM * before + CHANCE
    }
