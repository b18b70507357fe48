"""Batches that are processed only in part, as on AWS if a partition is hot."""

from dataclasses import dataclass, replace
from typing import Any, override

from faults.proxy.aws_answers import answer
from faults.proxy.dynamo_request import Request, decode, encode
from faults.proxy.fault import Exchange, Fault
from faults.proxy.reply import Reply
from faults.proxy.service_faults import throttled

type Batch = dict[str, Any]

REST_NAMES = {"BatchWriteItem": "UnprocessedItems", "BatchGetItem": "UnprocessedKeys"}


@dataclass(frozen=True, slots=True)
class Unprocessed(Fault):
    """Keep the last `left` items of a batch from the engine, and return them as unprocessed.

    If no item is left to process, the whole call is throttled, as on AWS.
    """

    left: int = 1

    @override
    def fits(self, request: Request) -> bool:
        return request.operation in REST_NAMES

    @override
    async def apply(self, exchange: Exchange) -> Reply:
        request = exchange.request
        done, rest = split(request.body["RequestItems"], self.left)
        if not done:
            return throttled()
        reply = await exchange.forward(request.with_body({**request.body, "RequestItems": done}))
        if reply.message is None or reply.message.status != 200:
            return reply
        body = decode(reply.message.body)
        name = REST_NAMES[request.operation]
        body[name] = merge(body.get(name, {}), rest)
        return replace(reply, message=answer(200, encode(body)))


def split(batch: Batch, left: int) -> tuple[Batch, Batch]:
    """Return the batch without its last `left` items, and a batch of these. Neither contains a table without items."""
    done, rest = {}, {}
    room = max(sum(len(_items(entry)) for entry in batch.values()) - left, 0)
    for table, entry in batch.items():
        items = _items(entry)
        if items[:room]:
            done[table] = _with_items(entry, items[:room])
        if items[room:]:
            rest[table] = _with_items(entry, items[room:])
        room = max(room - len(items), 0)
    return done, rest


def merge(first: Batch, second: Batch) -> Batch:
    """Merge items that the engine left unprocessed with items that it never received."""
    merged = dict(first)
    for table, entry in second.items():
        known = _items(merged[table]) if table in merged else []
        merged[table] = _with_items(entry, [*known, *_items(entry)])
    return merged


def _items(entry: Any) -> list[Any]:
    """Return the items of a table: a list of writes, or an object with keys and read options."""
    items: list[Any] = entry["Keys"] if isinstance(entry, dict) else entry
    return items


def _with_items(entry: Any, items: list[Any]) -> Any:
    return {**entry, "Keys": items} if isinstance(entry, dict) else items
