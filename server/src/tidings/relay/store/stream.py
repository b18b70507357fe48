"""The stream of the table `messages`."""

from collections.abc import Sequence
from typing import NoReturn, Protocol

from tidings.kernel.errors import UnavailableError
from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.platform.dynamo.errors import (
    DynamoError,
    IteratorExpiredError,
    NotFoundError,
    RecordsTrimmedError,
)
from tidings.platform.dynamo.streams import ChangeType, Records, StartAt, StreamDescription, StreamList
from tidings.platform.dynamo.streams import StreamRecord as DynamoRecord
from tidings.relay.model import (
    ContentExpired,
    EntryCommitted,
    RecordPage,
    ShardId,
    ShardRecord,
    StreamIteratorExpiredError,
    StreamShard,
    TrimmedError,
)

_TABLE = "messages"
_CHAT_PARTS, _EPHEMERAL_PARTS = 2, 3


class StreamsCalls(Protocol):
    async def list_streams(self, table: str | None = None, *, start: str | None = None) -> StreamList: ...

    async def describe(self, stream_arn: str, *, start: str | None = None) -> StreamDescription: ...

    async def iterator(
        self, stream_arn: str, shard_id: str, start: StartAt, sequence_number: str | None = None
    ) -> str: ...

    async def records(self, iterator: str, *, limit: int | None = None) -> Records: ...


class DynamoChangeStream:
    """Reads all streams of the table. A disabled stream is readable for 24 hours, and may have commits to audit."""

    def __init__(self, calls: StreamsCalls, *, page_records: int = 1000) -> None:
        self._calls = calls
        self._page_records = page_records
        self._stream_of: dict[ShardId, str] = {}

    async def shards(self) -> Sequence[StreamShard]:
        try:
            return [shard for stream in await self._streams() for shard in await self._shards_of(stream)]
        except DynamoError as error:
            _fail(error)

    async def iterator(self, shard: ShardId, after: str | None) -> str:
        start = StartAt.OLDEST if after is None else StartAt.AFTER
        try:
            return await self._calls.iterator(self._stream_of[shard], shard, start, after)
        except DynamoError as error:
            _fail(error)

    async def page(self, iterator: str) -> RecordPage:
        try:
            found = await self._calls.records(iterator, limit=self._page_records)
        except DynamoError as error:
            _fail(error)
        return RecordPage([_record(each) for each in found.records], found.iterator)

    async def _streams(self) -> Sequence[str]:
        found: list[str] = []
        start: str | None = None
        while True:
            page = await self._calls.list_streams(_TABLE, start=start)
            found += [stream.stream_arn for stream in page.streams]
            start = page.last_evaluated_stream_arn
            if start is None:
                return found

    async def _shards_of(self, stream: str) -> Sequence[StreamShard]:
        found: list[StreamShard] = []
        start: str | None = None
        while True:
            page = await self._calls.describe(stream, start=start)
            for each in page.shards:
                shard, parent = ShardId(each.shard_id), each.parent_shard_id
                self._stream_of[shard] = stream
                found.append(StreamShard(shard, None if parent is None else ShardId(parent)))
            start = page.last_evaluated_shard_id
            if start is None:
                return found


def _fail(error: DynamoError) -> NoReturn:
    if isinstance(error, IteratorExpiredError):
        raise StreamIteratorExpiredError from error
    if isinstance(error, RecordsTrimmedError):
        raise TrimmedError from error
    if error.transient or isinstance(error, NotFoundError):  # The table may not exist yet.
        raise UnavailableError(f"DynamoDB, stream: {error}") from error
    raise error


def _record(record: DynamoRecord) -> ShardRecord:
    at_ms = None if record.created_at is None else round(record.created_at.timestamp() * 1000)
    return ShardRecord(record.sequence_number, at_ms, _change(record), record.size_bytes)


def _change(record: DynamoRecord) -> EntryCommitted | ContentExpired | None:
    """Return a new entry, or ephemeral content that its TTL deleted. Edits and redactions are entries of their own.

    An imported entry is ignored: it is not delivered.
    """
    parts = str(record.keys["chat_id"]).split("#")
    chat = ChatKey(TenantId(parts[0]), ChatId(parts[1]))
    sequence = int(record.keys["sequence"])
    if record.change is ChangeType.INSERT and len(parts) == _CHAT_PARTS:
        is_imported = record.new is not None and "imported" in record.new
        return None if is_imported else EntryCommitted(chat, sequence)
    if record.change is ChangeType.REMOVE and record.is_expiry and len(parts) == _EPHEMERAL_PARTS:
        return ContentExpired(chat, sequence)
    return None
