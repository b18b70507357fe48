"""BatchGetItem and BatchWriteItem for any number of items: split into calls, unprocessed items sent again.

The calls of a batch run one after the other.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec
from msgspec import Raw

from tidings.platform.dynamo import operations, request_bodies
from tidings.platform.dynamo.codec import Attributes, EncodedItem, Item, decode_item, encode_item
from tidings.platform.dynamo.errors import DynamoError, UnprocessedError
from tidings.platform.dynamo.item_size import (
    WRITE_UNIT_BYTES,
    batch_get_units,
    encoded_item_bytes,
    write_units,
)
from tidings.platform.dynamo.request_bodies import (
    BatchBody,
    BatchDelete,
    BatchKeys,
    BatchPut,
    BatchWrite,
    Capacity,
    Names,
)
from tidings.platform.dynamo.requests import CheckedPattern
from tidings.platform.dynamo.responses import BatchGetReply
from tidings.platform.dynamo.transport import Transport

MAX_GETS = 100
MAX_WRITES = 25

_read_item = msgspec.json.Decoder(EncodedItem).decode


class _UnprocessedRetries:
    """The deadline of a batch, and the waits before unprocessed items are sent again."""

    def __init__(self, channel: Transport, timeout_s: float | None) -> None:
        self._channel = channel
        self._deadline = channel.deadline(timeout_s)
        self._rounds = 0

    @property
    def left_s(self) -> float:
        return self._deadline - self._channel.now()

    async def wait(self, unprocessed: Iterable[Raw]) -> None:
        self._rounds += 1
        wait_s = self._channel.retries.backoff_s(self._rounds)
        if wait_s < self.left_s:
            await self._channel.sleep(wait_s)
            if self.left_s > 0:  # A busy process can wake up after the deadline.
                return
        items = tuple(decode_item(_read_item(item)) for item in unprocessed)
        raise UnprocessedError(
            f"{len(items)} items of the batch were not processed in time", unprocessed=items
        )


@dataclass(frozen=True, slots=True)
class BatchGetter:
    channel: Transport
    plan: CheckedPattern
    capacity: Capacity | None
    projection: str | None = None
    names: Names | None = None
    timeout_s: float | None = None

    async def run(self, keys: Mapping[str, Iterable[Attributes]]) -> dict[str, list[Item]]:
        """Read items of one or several physical tables. The first calls read the keys of the first table."""
        retries = _UnprocessedRetries(self.channel, self.timeout_s)
        pending = [(table, Raw(encode_item(key))) for table, some in keys.items() for key in some]
        found: dict[str, list[Item]] = {table: [] for table in keys}
        while pending:
            chunk, pending = pending[:MAX_GETS], pending[MAX_GETS:]
            reply = await self._call(_by_table(chunk), retries)
            for table, items in reply.items.items():
                found[table] += items
            if reply.unprocessed:
                pending += [(table, key) for table, some in reply.unprocessed.items() for key in some]
                await retries.wait(key for _, key in pending)
        return found

    async def _call(self, keys: dict[str, list[Raw]], retries: _UnprocessedRetries) -> BatchGetReply:
        row = self.plan.row
        reply, _ = await self.channel.call(
            operations.BATCH_GET, self._body(keys), row, is_repeatable=True, timeout_s=retries.left_s
        )
        units = 0.0
        for table, some in keys.items():
            processed = len(some) - len(reply.unprocessed.get(table, ()))
            units += batch_get_units(reply.items.get(table, ()), processed, strong=self._is_strong(table))
        row.read(units, reply.consumed, is_exact=self.projection is None)
        return reply

    def _body(self, keys: dict[str, list[Raw]]) -> bytes:
        tables = {
            table: BatchKeys(
                Keys=some,
                ConsistentRead=self._is_strong(table),
                ProjectionExpression=self.projection,
                ExpressionAttributeNames=self.names,
            )
            for table, some in keys.items()
        }
        return request_bodies.write(BatchBody(RequestItems=tables, ReturnConsumedCapacity=self.capacity))

    def _is_strong(self, table: str) -> bool:
        return self.plan.is_strong and table not in self.plan.eventual


def _by_table(keys: Iterable[tuple[str, Raw]]) -> dict[str, list[Raw]]:
    tables: dict[str, list[Raw]] = {}
    for table, key in keys:
        tables.setdefault(table, []).append(key)
    return tables


@dataclass(frozen=True, slots=True)
class BatchWriter:
    channel: Transport
    plan: CheckedPattern
    capacity: Capacity | None
    timeout_s: float | None
    is_repeatable: bool

    async def run(self, puts: Iterable[Attributes], deletes: Iterable[Attributes]) -> None:
        pending = [
            *(BatchWrite(PutRequest=BatchPut(Raw(encode_item(item)))) for item in puts),
            *(BatchWrite(DeleteRequest=BatchDelete(Raw(encode_item(key)))) for key in deletes),
        ]
        total = len(pending)
        retries = _UnprocessedRetries(self.channel, self.timeout_s)
        try:
            while pending:
                unprocessed = await self._call(pending[:MAX_WRITES], retries)
                pending = pending[MAX_WRITES:] + unprocessed
                if unprocessed:
                    await retries.wait(map(_content, pending))
        except DynamoError as error:
            error.maybe_applied = error.maybe_applied or len(pending) < total
            raise

    async def _call(self, writes: list[BatchWrite], retries: _UnprocessedRetries) -> list[BatchWrite]:
        tables = {self.plan.table: writes}
        body = request_bodies.write(BatchBody(RequestItems=tables, ReturnConsumedCapacity=self.capacity))
        row = self.plan.row
        reply, _ = await self.channel.call(
            operations.BATCH_WRITE, body, row, is_repeatable=self.is_repeatable, timeout_s=retries.left_s
        )
        units = sum(map(_units, writes)) - sum(map(_units, reply.unprocessed))
        # An estimate: the size of the replaced items is unknown.
        row.write(units, reply.consumed, is_exact=False)
        return reply.unprocessed


def _content(write: BatchWrite) -> Raw:
    if write.PutRequest is not None:
        return write.PutRequest.Item
    return write.DeleteRequest.Key if write.DeleteRequest is not None else Raw(b"{}")


def _units(write: BatchWrite) -> int:
    """Return the units of one write. Each is rounded separately."""
    content = _content(write)
    return (
        1
        if len(content) <= WRITE_UNIT_BYTES
        else write_units(encoded_item_bytes(decode_item(_read_item(content))))
    )
