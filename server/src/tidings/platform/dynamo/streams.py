"""A client for DynamoDB Streams: streams, shards and change records."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

import msgspec
from msgspec import Struct, field

from tidings.platform.dynamo import request_bodies
from tidings.platform.dynamo.capacity import CapacityLedger
from tidings.platform.dynamo.codec import (
    AttributeValue,
    EncodedItem,
    Item,
    ItemValue,
    UnsupportedValueError,
    decode_item,
    decode_value,
)
from tidings.platform.dynamo.operations import OperationSpec
from tidings.platform.dynamo.transport import Transport

_TTL_PRINCIPAL = "dynamodb.amazonaws.com"


class ChangeType(StrEnum):
    INSERT = "INSERT"
    MODIFY = "MODIFY"
    REMOVE = "REMOVE"


class TableStream(Struct, frozen=True, rename="pascal"):
    stream_arn: str
    table_name: str
    stream_label: str


class StreamList(Struct, frozen=True, rename="pascal"):
    """`last_evaluated_stream_arn`: where the next call starts, or None."""

    streams: list[TableStream] = []
    last_evaluated_stream_arn: str | None = None


class SequenceRange(Struct, frozen=True, rename="pascal"):
    starting_sequence_number: str | None = None
    ending_sequence_number: str | None = None


class TableStreamShard(Struct, frozen=True, rename="pascal"):
    shard_id: str
    parent_shard_id: str | None = None
    sequence_number_range: SequenceRange = SequenceRange()

    @property
    def is_closed(self) -> bool:
        """Return whether the shard is complete. Later records are in its child shards."""
        return self.sequence_number_range.ending_sequence_number is not None


class StreamDescription(Struct, frozen=True, rename="pascal"):
    """`last_evaluated_shard_id`: where the next call starts, or None."""

    stream_arn: str
    stream_status: str
    table_name: str
    stream_view_type: str | None = None
    shards: list[TableStreamShard] = []
    last_evaluated_shard_id: str | None = None


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """A change. `is_expiry`: DynamoDB's TTL removed the item. `created_at` is approximate, in seconds on AWS."""

    id: str
    change: ChangeType
    sequence_number: str
    created_at: datetime | None
    keys: Item
    new: Item | None
    old: Item | None
    size_bytes: int
    is_expiry: bool


@dataclass(frozen=True, slots=True)
class Records:
    """`iterator`: where the next read starts; None if a closed shard was read to its end."""

    records: list[StreamRecord]
    iterator: str | None


class _Description(Struct):
    answer: StreamDescription = field(name="StreamDescription")


class _Iterator(Struct):
    iterator: str = field(name="ShardIterator")


class _Changed(Struct, rename="pascal"):
    sequence_number: str
    keys: EncodedItem
    new_image: EncodedItem | None = None
    old_image: EncodedItem | None = None
    size_bytes: int = 0
    approximate_creation_date_time: float | None = None


class _Identity(Struct):
    """AWS uses `PrincipalId`. dynoxide uses `principalId`, as events of AWS Lambda do."""

    principal_id: str = field(name="PrincipalId", default="")
    principal_id_in_functions: str = field(name="principalId", default="")

    @property
    def is_ttl(self) -> bool:
        return _TTL_PRINCIPAL in {self.principal_id, self.principal_id_in_functions}


class _Record(Struct, rename="camel"):
    event_id: str = field(name="eventID")
    event_name: str
    dynamodb: _Changed
    user_identity: _Identity | None = None


class _Records(Struct):
    records: list[_Record] = field(name="Records", default_factory=list)
    iterator: str | None = field(name="NextShardIterator", default=None)


_decode_description = msgspec.json.Decoder(_Description).decode
_decode_iterator = msgspec.json.Decoder(_Iterator).decode
_decode_records = msgspec.json.Decoder(_Records).decode
read_streams = msgspec.json.Decoder(StreamList).decode


def read_description(body: bytes) -> StreamDescription:
    return _decode_description(body).answer


def read_iterator(body: bytes) -> str:
    return _decode_iterator(body).iterator


def read_records(body: bytes) -> Records:
    answer = _decode_records(body)
    return Records([_record(record) for record in answer.records], answer.iterator)


def _image(item: EncodedItem | None) -> Item | None:
    """Decode an image without values of unknown type, which DynamoDB Local sometimes returns.

    An error would stop the reader of the shard: the same page would fail on every attempt.
    """
    if item is None:
        return None
    try:
        return decode_item(item)
    except UnsupportedValueError:
        return {name: plain for name, value in item.items() for plain in _readable(value)}


def _readable(value: AttributeValue) -> list[ItemValue]:
    try:
        return [decode_value(value)]
    except UnsupportedValueError:
        return []


def _change(answer: _Record) -> ChangeType:
    """Return the kind of the change, from the images if the name is unknown.

    DynamoDB Local sometimes returns the name "UNKNOWN_TO_SDK_VERSION". An error would stop the reader of the shard: the
    same page would fail on every attempt.
    """
    if answer.event_name in ChangeType:
        return ChangeType(answer.event_name)
    if answer.dynamodb.new_image is None:
        return ChangeType.REMOVE
    return ChangeType.INSERT if answer.dynamodb.old_image is None else ChangeType.MODIFY


def _record(answer: _Record) -> StreamRecord:
    changed = answer.dynamodb
    created = changed.approximate_creation_date_time
    identity = answer.user_identity
    return StreamRecord(
        id=answer.event_id,
        change=_change(answer),
        sequence_number=changed.sequence_number,
        created_at=None if created is None else datetime.fromtimestamp(created, UTC),
        keys=decode_item(changed.keys),
        new=_image(changed.new_image),
        old=_image(changed.old_image),
        size_bytes=changed.size_bytes,
        is_expiry=identity is not None and identity.is_ttl,
    )


TARGET = "DynamoDBStreams_20120810."
LIST = OperationSpec(TARGET + "ListStreams", read_streams)
DESCRIBE = OperationSpec(TARGET + "DescribeStream", read_description)
GET_ITERATOR = OperationSpec(TARGET + "GetShardIterator", read_iterator)
GET_RECORDS = OperationSpec(TARGET + "GetRecords", read_records)


class StartAt(StrEnum):
    """Where in a shard to start. AT and AFTER need a sequence number."""

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
    """A client for DynamoDB Streams, with a ledger of its own."""

    def __init__(self, channel: Transport, table_prefix: str) -> None:
        self._channel = channel
        self._prefix = table_prefix
        self.ledger = CapacityLedger()

    def close(self) -> None:
        self._channel.close()

    async def list_streams(
        self, table: str | None = None, *, start: str | None = None, limit: int | None = None
    ) -> StreamList:
        """List all streams, or those of one table by its logical name."""
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
        reply, _ = await self._channel.call(verb, request_bodies.write(body), row, is_repeatable=True)
        return reply
