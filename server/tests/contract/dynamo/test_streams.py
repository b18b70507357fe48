"""The four calls of DynamoDB Streams on both engines, compared with boto3."""

import asyncio
from typing import Any

import boto3
import pytest
from contract.dynamo.by_boto3 import plain
from contract.dynamo.conftest import REGION, ScratchTable
from contract.dynamo.patterns import DELETE, PUT, TABLE, UPDATE
from types_boto3_dynamodbstreams import DynamoDBStreamsClient

from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import NotFoundError, ValidationError
from tidings.platform.dynamo.open_client import open_client, open_streams
from tidings.platform.dynamo.streams import ChangeType, StartAt, StreamRecord, StreamsClient

ITEM = {"pk": "a", "sk": 1, "blob": b"\x00", "list": [1, {"deep": None}]}
KEY: dict[str, Any] = {"pk": "a", "sk": 1}


def boto3_streams(url: str) -> DynamoDBStreamsClient:
    return boto3.client(
        "dynamodbstreams",
        endpoint_url=url,
        region_name=REGION,
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )


async def change(client: DynamoClient) -> None:
    await client.put(PUT, ITEM)
    await client.update(UPDATE, KEY, "SET n = :n", values={":n": 5})
    await client.delete(DELETE, KEY)


async def read_all(
    streams: StreamsClient, start: StartAt, after: str | None = None, limit: int = 2
) -> list[StreamRecord]:
    """Return all records of the table's only shard, in several reads."""
    (stream,) = (await streams.list_streams(TABLE)).streams
    (shard,) = (await streams.describe(stream.stream_arn)).shards
    iterator: str | None = await streams.iterator(stream.stream_arn, shard.shard_id, start, after)
    found: list[StreamRecord] = []
    while iterator is not None:
        page = await streams.records(iterator, limit=limit)
        if not page.records:
            break
        found += page.records
        iterator = page.iterator
    return found


def by_boto3(url: str, table: str) -> list[dict[str, Any]]:
    client = boto3_streams(url)
    (stream,) = client.list_streams(TableName=table)["Streams"]
    (shard,) = client.describe_stream(StreamArn=stream["StreamArn"])["StreamDescription"]["Shards"]
    iterator = client.get_shard_iterator(
        StreamArn=stream["StreamArn"], ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
    )["ShardIterator"]
    records: Any = client.get_records(ShardIterator=iterator)["Records"]
    client.close()
    return [
        {
            "id": record["eventID"],
            "change": record["eventName"],
            "sequence_number": record["dynamodb"]["SequenceNumber"],
            "created_at": record["dynamodb"].get("ApproximateCreationDateTime"),
            "keys": plain(record["dynamodb"]["Keys"]),
            "new": plain(record["dynamodb"]["NewImage"]) if "NewImage" in record["dynamodb"] else None,
            "old": plain(record["dynamodb"]["OldImage"]) if "OldImage" in record["dynamodb"] else None,
            "size_bytes": record["dynamodb"]["SizeBytes"],
            "is_expiry": False,
        }
        for record in records
    ]


def test_changes_are_read_in_order_and_as_boto3_reads_them(place: ScratchTable) -> None:
    async def ours() -> list[StreamRecord]:
        async with (
            open_client(place.engine.url, REGION, place.ours) as client,
            open_streams(place.engine.url, REGION, place.ours) as streams,
        ):
            await change(client)
            return await read_all(streams, StartAt.OLDEST)

    records = asyncio.run(ours())
    assert [record.change for record in records] == [ChangeType.INSERT, ChangeType.MODIFY, ChangeType.REMOVE]
    assert [record.new for record in records] == [ITEM, ITEM | {"n": 5}, None]
    assert [record.old for record in records] == [None, ITEM, ITEM | {"n": 5}]
    theirs = by_boto3(place.engine.url, place.our_table)
    assert [{name: getattr(record, name) for name in theirs[0]} for record in records] == theirs


async def test_reading_continues_after_a_sequence_number(place: ScratchTable) -> None:
    async with (
        open_client(place.engine.url, REGION, place.ours) as client,
        open_streams(place.engine.url, REGION, place.ours) as streams,
    ):
        await change(client)
        first, *rest = await read_all(streams, StartAt.OLDEST)
        assert await read_all(streams, StartAt.AFTER, first.sequence_number) == rest
        assert await read_all(streams, StartAt.AT, first.sequence_number) == [first, *rest]
        assert await read_all(streams, StartAt.LATEST) == []
        assert streams.ledger["DynamoDBStreams_20120810.GetRecords"].calls > 3


async def test_a_stream_is_described(place: ScratchTable) -> None:
    async with open_streams(place.engine.url, REGION, place.ours) as streams:
        (stream,) = (await streams.list_streams(TABLE)).streams
        assert stream.table_name == place.our_table
        description = await streams.describe(stream.stream_arn)
        assert (description.stream_status, description.stream_view_type) == ("ENABLED", "NEW_AND_OLD_IMAGES")
        assert description.table_name == place.our_table
        assert not description.shards[0].is_closed


async def test_mistakes_are_typed(place: ScratchTable) -> None:
    async with open_streams(place.engine.url, REGION, place.ours) as streams:
        (stream,) = (await streams.list_streams(TABLE)).streams
        missing = stream.stream_arn.replace(place.our_table, f"{place.ours}nothing-here")
        with pytest.raises((NotFoundError, ValidationError)):
            await streams.describe(missing)
        with pytest.raises((NotFoundError, ValidationError)):
            await streams.records("no such iterator")
