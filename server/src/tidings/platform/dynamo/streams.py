"""DynamoDB Streams: the four calls, for the relay. They only read, so each may be repeated."""

from enum import StrEnum

from msgspec import Struct

from tidings.platform.dynamo import bodies, records
from tidings.platform.dynamo.channel import Transport
from tidings.platform.dynamo.ledger import CapacityLedger
from tidings.platform.dynamo.records import Records, StreamDescription, StreamList
from tidings.platform.dynamo.verbs import OperationSpec

TARGET = "DynamoDBStreams_20120810."
LIST = OperationSpec(TARGET + "ListStreams", records.read_streams)
DESCRIBE = OperationSpec(TARGET + "DescribeStream", records.read_description)
GET_ITERATOR = OperationSpec(TARGET + "GetShardIterator", records.read_iterator)
GET_RECORDS = OperationSpec(TARGET + "GetRecords", records.read_records)


class StartAt(StrEnum):
    """Where in a shard to begin. AT and AFTER need a sequence number."""

    OLDEST = "TRIM_HORIZON"
    LATEST = "LATEST"
    AT = "AT_SEQUENCE_NUMBER"
    AFTER = "AFTER_SEQUENCE_NUMBER"


class _Body(Struct, kw_only=True, omit_defaults=True, rename="pascal"):
    table_name: str | None = None
    stream_arn: str | None = None
    exclusive_start_stream_arn: str | None = None
    exclusive_start_shard_id: str | None = None
    shard_id: str | None = None
    shard_iterator_type: StartAt | None = None
    sequence_number: str | None = None
    shard_iterator: str | None = None
    limit: int | None = None


class StreamsClient:
    """Counts its calls in a ledger of its own, a row for each of the four."""

    def __init__(self, channel: Transport, table_prefix: str) -> None:
        self._channel = channel
        self._prefix = table_prefix
        self.ledger = CapacityLedger()

    def close(self) -> None:
        self._channel.close()

    async def list_streams(
        self, table: str | None = None, *, start: str | None = None, limit: int | None = None
    ) -> StreamList:
        """All streams, or those of one table (its logical name)."""
        physical = None if table is None else self._prefix + table
        body = _Body(table_name=physical, exclusive_start_stream_arn=start, limit=limit)
        return await self._call(LIST, body)

    async def describe(
        self, stream_arn: str, *, start: str | None = None, limit: int | None = None
    ) -> StreamDescription:
        body = _Body(stream_arn=stream_arn, exclusive_start_shard_id=start, limit=limit)
        return await self._call(DESCRIBE, body)

    async def iterator(
        self, stream_arn: str, shard_id: str, start: StartAt, sequence_number: str | None = None
    ) -> str:
        body = _Body(
            stream_arn=stream_arn,
            shard_id=shard_id,
            shard_iterator_type=start,
            sequence_number=sequence_number,
        )
        return await self._call(GET_ITERATOR, body)

    async def records(self, iterator: str, *, limit: int | None = None) -> Records:
        return await self._call(GET_RECORDS, _Body(shard_iterator=iterator, limit=limit))

    async def _call[T](self, verb: OperationSpec[T], body: _Body) -> T:
        row = self.ledger.open(verb.target, verb.target.removeprefix(TARGET))
        reply, _ = await self._channel.call(verb, bodies.write(body), row, is_repeatable=True)
        return reply
