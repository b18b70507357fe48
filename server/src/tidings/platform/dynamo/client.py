"""The DynamoDB client: one method per call, each named by its access pattern.

The pattern determines consistency, table and index. A write is repeated after an unanswered attempt only if the caller
says that this is safe. There is no Scan, and tables are created elsewhere.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from tidings.platform.dynamo import operations, request_bodies, requests
from tidings.platform.dynamo.batch import BatchGetter, BatchWriter
from tidings.platform.dynamo.capacity import CapacityLedger, PatternCounters
from tidings.platform.dynamo.codec import Attributes, Item, encode_item
from tidings.platform.dynamo.errors import ConditionFailedError, TransactionCancelledError
from tidings.platform.dynamo.item_size import (
    estimate_write_units,
    get_units,
    larger_units,
    put_units,
    query_units,
)
from tidings.platform.dynamo.operations import PLAIN, AccessPattern, ItemType, Operation, OperationSpec
from tidings.platform.dynamo.request_bodies import Names, Returns, WriteBody
from tidings.platform.dynamo.requests import (
    TRANSACTION_FACTOR,
    CheckedPattern,
    PatternChecker,
    Query,
    QueryPage,
    TransactAction,
    key_of,
    needs_absence,
    query_body,
)
from tidings.platform.dynamo.responses import PLAINLY_WRITTEN, WriteReply, WriteResult
from tidings.platform.dynamo.transport import Transport


class DynamoClient:
    """A client for one event loop. `measure` also requests the consumed capacity of each call from the engine.

    If a `condition` fails, the error contains the stored item.
    """

    def __init__(self, channel: Transport, table_prefix: str, *, measure: bool = False) -> None:
        self._channel = channel
        self.ledger = CapacityLedger()
        self._plans = PatternChecker(table_prefix, self.ledger)
        self._prefix = table_prefix
        self._about_tables = PatternCounters("about_tables", "Describe")
        self._capacity: request_bodies.Capacity | None = "INDEXES" if measure else None

    def close(self) -> None:
        """Close all connections. Calls in flight fail with an unknown outcome."""
        self._channel.close()

    async def get(
        self,
        pattern: AccessPattern,
        key: Attributes,
        *,
        projection: str | None = None,
        names: Names | None = None,
        timeout_s: float | None = None,
    ) -> Item | None:
        plan = self._plans.of(pattern, Operation.GET_ITEM)
        body = request_bodies.GetBody(
            TableName=plan.table,
            Key=Raw(encode_item(key)),
            ConsistentRead=plan.is_strong,
            ProjectionExpression=projection,
            ExpressionAttributeNames=names,
            ReturnConsumedCapacity=self._capacity,
        )
        reply, _ = await self._channel.call(
            operations.GET, request_bodies.write(body), plan.row, is_repeatable=True, timeout_s=timeout_s
        )
        found = () if reply.item is None else (reply.item,)
        units = get_units(reply.size_bytes, found, strong=plan.is_strong)
        plan.row.read(units, reply.consumed, is_exact=projection is None)
        self.ledger.heat.add(pattern.tables[0], "read", key, units)
        return reply.item

    async def query(
        self, pattern: AccessPattern, query: Query, *, timeout_s: float | None = None
    ) -> QueryPage[Item]:
        """Read one page, of up to 1 MB before the filter."""
        return await self.query_as(PLAIN, pattern, query, timeout_s=timeout_s)

    def pages(
        self, pattern: AccessPattern, query: Query, *, timeout_s: float | None = None
    ) -> AsyncIterator[QueryPage[Item]]:
        """Read all pages. A page can be empty without being the last. The timeout applies to each page."""
        return self.pages_as(PLAIN, pattern, query, timeout_s=timeout_s)

    async def query_as[T](
        self, shape: ItemType[T], pattern: AccessPattern, query: Query, *, timeout_s: float | None = None
    ) -> QueryPage[T]:
        plan = self._plans.of(pattern, Operation.QUERY)
        body = query_body(plan, query, self._capacity or "TOTAL")
        reply, _ = await self._channel.call(
            shape.verb, body, plan.row, is_repeatable=True, timeout_s=timeout_s
        )
        measured = reply.consumed if self._capacity else ()
        units = query_units(reply, strong=plan.is_strong)
        plan.row.read(units, measured, is_exact=bool(reply.consumed))
        if pattern.index is None:
            self.ledger.heat.add_query(pattern.tables[0], query.condition, query.names, query.values, units)
        return QueryPage(reply.items, reply.last_key, reply.scanned)

    async def pages_as[T](
        self, shape: ItemType[T], pattern: AccessPattern, query: Query, *, timeout_s: float | None = None
    ) -> AsyncIterator[QueryPage[T]]:
        while True:
            page = await self.query_as(shape, pattern, query, timeout_s=timeout_s)
            yield page
            if page.start is None:
                return
            query = replace(query, start=page.start)

    async def put(
        self,
        pattern: AccessPattern,
        item: Attributes,
        *,
        condition: str | None = None,
        names: Names | None = None,
        values: Attributes | None = None,
        returns: Returns | None = None,
        repeatable: bool = False,
        timeout_s: float | None = None,
    ) -> WriteResult:
        plan = self._plans.of(pattern, Operation.PUT_ITEM)
        encoded = encode_item(item)
        body = self._write_body(plan, condition, names, values, returns)
        body.Item = Raw(encoded)
        return await self._write(
            operations.PUT,
            plan,
            item,
            body,
            put_units(encoded, item),
            is_exact=returns == "ALL_OLD" or needs_absence(condition),
            is_repeatable=repeatable,
            timeout_s=timeout_s,
        )

    async def update(
        self,
        pattern: AccessPattern,
        key: Attributes,
        update: str,
        *,
        condition: str | None = None,
        names: Names | None = None,
        values: Attributes | None = None,
        returns: Returns | None = None,
        repeatable: bool = False,
        timeout_s: float | None = None,
    ) -> WriteResult:
        plan = self._plans.of(pattern, Operation.UPDATE_ITEM)
        encoded = encode_item(key)
        body = self._write_body(plan, condition, names, values, returns)
        body.Key = Raw(encoded)
        body.UpdateExpression = update
        units = estimate_write_units(encoded, key, body.ExpressionAttributeValues or b"", values or {})
        return await self._write(
            operations.UPDATE,
            plan,
            key,
            body,
            units,
            is_exact=False,
            is_repeatable=repeatable,
            timeout_s=timeout_s,
        )

    async def delete(
        self,
        pattern: AccessPattern,
        key: Attributes,
        *,
        condition: str | None = None,
        names: Names | None = None,
        values: Attributes | None = None,
        returns: Returns | None = None,
        repeatable: bool = False,
        timeout_s: float | None = None,
    ) -> WriteResult:
        plan = self._plans.of(pattern, Operation.DELETE_ITEM)
        body = self._write_body(plan, condition, names, values, returns)
        body.Key = Raw(encode_item(key))
        return await self._write(
            operations.DELETE,
            plan,
            key,
            body,
            1,
            is_exact=returns == "ALL_OLD",
            is_repeatable=repeatable,
            timeout_s=timeout_s,
        )

    async def transact_write(
        self,
        pattern: AccessPattern,
        actions: Sequence[TransactAction],
        *,
        token: str | None = None,
        repeatable: bool = False,
        timeout_s: float | None = None,
    ) -> WriteResult:
        """Apply all actions or none. With a token, DynamoDB recognizes a repetition for ten minutes, so a retry is safe."""
        plan = self._plans.of(pattern, Operation.TRANSACT_WRITE_ITEMS)
        writes = requests.transact_write_body(plan, actions, token, self._capacity)
        try:
            reply, is_doubtful = await self._channel.call(
                operations.TRANSACT_WRITE,
                writes.body,
                plan.row,
                is_repeatable=repeatable or token is not None,
                timeout_s=timeout_s,
            )
        except TransactionCancelledError:
            # A transaction that was prepared and not committed is charged too.
            plan.row.write(writes.units, is_exact=False)
            raise
        plan.row.write(writes.units * TRANSACTION_FACTOR, reply.consumed, is_exact=writes.is_exact)
        for action, units in zip(actions, writes.units_each, strict=True):
            self.ledger.heat.add(action.table, "write", key_of(action), units * TRANSACTION_FACTOR)
        return WriteResult(maybe_repeated=True) if is_doubtful else PLAINLY_WRITTEN

    async def try_transact_write(
        self, pattern: AccessPattern, actions: Sequence[TransactAction], *, repeatable: bool = False
    ) -> bool:
        """Apply all actions or none. Return False if the condition of the first action failed."""
        try:
            await self.transact_write(pattern, actions, repeatable=repeatable)
        except TransactionCancelledError as cancelled:
            if cancelled.reasons[0].is_condition:
                return False
            raise
        return True

    async def batch_get(
        self,
        pattern: AccessPattern,
        keys: Sequence[Attributes],
        *,
        projection: str | None = None,
        names: Names | None = None,
        timeout_s: float | None = None,
    ) -> list[Item]:
        """Read any number of items, 100 per call, in no order. Unprocessed keys are requested again."""
        plan = self._plans.of(pattern, Operation.BATCH_GET_ITEM)
        getter = BatchGetter(self._channel, plan, self._capacity, projection, names, timeout_s)
        return (await getter.run({plan.table: keys}))[plan.table]

    async def batch_get_tables(
        self, pattern: AccessPattern, keys: Mapping[str, Sequence[Attributes]]
    ) -> dict[str, list[Item]]:
        """Read items of several tables as `batch_get` does, 100 per call. Keys and items are by logical table."""
        plan = self._plans.of(pattern, Operation.BATCH_GET_ITEM)
        getter = BatchGetter(self._channel, plan, self._capacity)
        found = await getter.run({plan.table_of(table): some for table, some in keys.items()})
        return {table: found[plan.table_of(table)] for table in keys}

    async def batch_write(
        self,
        pattern: AccessPattern,
        *,
        puts: Sequence[Attributes] = (),
        deletes: Sequence[Attributes] = (),
        repeatable: bool = False,
        timeout_s: float | None = None,
    ) -> None:
        """Write without conditions, 25 items per call. Not atomic: after an error some items are written."""
        plan = self._plans.of(pattern, Operation.BATCH_WRITE_ITEM)
        writer = BatchWriter(self._channel, plan, self._capacity, timeout_s, is_repeatable=repeatable)
        await writer.run(puts, deletes)

    async def describe(self, table: str) -> Any:  # noqa: ANN401 - JSON as DynamoDB returns it
        """Return `Table` of DescribeTable. Raises `NotFoundError`."""
        return (await self._describe(operations.DESCRIBE_TABLE, table))["Table"]

    async def describe_ttl(self, table: str) -> Any:  # noqa: ANN401 - as above
        return (await self._describe(operations.DESCRIBE_TTL, table))["TimeToLiveDescription"]

    async def _describe(self, verb: OperationSpec[Any], table: str) -> Any:  # noqa: ANN401 - as above
        """Call a control-plane operation. It is free and has no access pattern."""
        body = request_bodies.write(request_bodies.TableBody(TableName=self._prefix + table))
        reply, _ = await self._channel.call(verb, body, self._about_tables, is_repeatable=True)
        return reply

    def _write_body(
        self,
        plan: CheckedPattern,
        condition: str | None,
        names: Names | None,
        values: Attributes | None,
        returns: Returns | None,
    ) -> WriteBody:
        return WriteBody(
            TableName=plan.table,
            ConditionExpression=condition,
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=None if values is None else Raw(encode_item(values)),
            ReturnValuesOnConditionCheckFailure=None if condition is None else "ALL_OLD",
            ReturnValues=returns,
            ReturnConsumedCapacity=self._capacity,
        )

    async def _write(
        self,
        verb: OperationSpec[WriteReply],
        plan: CheckedPattern,
        key: Attributes,
        body: WriteBody,
        units: int,
        *,
        is_exact: bool,
        is_repeatable: bool,
        timeout_s: float | None,
    ) -> WriteResult:
        try:
            reply, is_doubtful = await self._channel.call(
                verb, request_bodies.write(body), plan.row, is_repeatable=is_repeatable, timeout_s=timeout_s
            )
        except ConditionFailedError as error:
            # A failed condition is charged too, by the larger of the two items.
            plan.row.write(larger_units(units, error.item), is_exact=True)
            raise
        plan.row.write(larger_units(units, reply.attributes), reply.consumed, is_exact=is_exact)
        self.ledger.heat.add(plan.pattern.tables[0], "write", key, units)
        if reply.attributes is None and not is_doubtful:
            return PLAINLY_WRITTEN
        return WriteResult(reply.attributes, is_doubtful)
