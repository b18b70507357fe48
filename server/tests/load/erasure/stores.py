"""Everything that an installation stores, as bytes: through the engines, and from their files.

A store that is read through its engine yields values; of the others, whole files.
"""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

from boto3.dynamodb.types import TypeDeserializer
from faults.clients import dynamodb, streams
from fixtures.installation_processes import InstallationProcesses
from fixtures.media_env import open_bucket
from fixtures.redis_cluster import ask

from load.erasure.decoding import record_batches
from load.erasure.sealed import locations_of
from load.standalone import s3_url
from tidings.engines import dynoxide
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import Engine, EngineNode
from tidings.kernel.ids import TenantId
from tidings.schema.tables.declaration import TABLES

_ITEM: Final = TypeDeserializer()
_SCAN_COUNT: Final = 1000
type Backup = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class StoredBytes:
    """Bytes of a store. `place`: table, topic, key or file. `hints`: where sealed contents in them belong."""

    store: str
    place: str
    data: bytes
    hints: frozenset[bytes] = frozenset()
    is_file: bool = False


class InstallationStores:
    """The stores of one installation with the index `tantivy` and the bucket of a local SeaweedFS."""

    def __init__(self, installation: InstallationProcesses, bucket_engine: LocalCluster) -> None:
        self._installation = installation
        self._fleets = {id(fleet): fleet for fleet in (installation.fleet, bucket_engine)}.values()
        self._s3 = s3_url(bucket_engine)
        self._tenant = TenantId(installation.space.tenant)

    async def all(self) -> AsyncIterator[StoredBytes]:
        """Read every store."""
        for table, items in self.backup().items():
            for item in items:
                yield self.item("tables", table, item)
        for found in self._changes():
            yield found
        for found in self._kafka():
            yield found
        for found in self._valkey():
            yield found
        async for found in self._objects():
            yield found
        for found in self._files():
            yield found

    def backup(self) -> Backup:
        """Return all items of all tables by the name of the table, as a backup has them."""
        raw, prefix = dynamodb(self._installation.tables.url), self._installation.tables.prefix
        found = {}
        for table in TABLES:
            pages = raw.get_paginator("scan").paginate(TableName=prefix + table.name, ConsistentRead=True)
            found[table.name] = [_plain(item) for page in pages for item in page["Items"]]
        return found

    def item(self, store: str, table: str, item: Mapping[str, Any]) -> StoredBytes:
        hints = locations_of(table, self._tenant, item)
        return StoredBytes(store, table, b"\n".join(_values(item)), frozenset(hints))

    def _changes(self) -> Iterator[StoredBytes]:
        """Read the change streams from their beginning."""
        raw, prefix = streams(self._installation.tables.url), self._installation.tables.prefix
        for stream in raw.list_streams(TableName=f"{prefix}messages")["Streams"]:
            shards = raw.describe_stream(StreamArn=stream["StreamArn"])["StreamDescription"]["Shards"]
            for shard in shards:
                at: str | None = raw.get_shard_iterator(
                    StreamArn=stream["StreamArn"], ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
                )["ShardIterator"]
                while at:
                    page = raw.get_records(ShardIterator=at)
                    for record in page["Records"]:
                        change: Mapping[str, Any] = record["dynamodb"]
                        for image in ("OldImage", "NewImage"):
                            item = _plain(change.get(image, {}))
                            yield self.item("change stream", "messages", item)
                    at = page.get("NextShardIterator") if page["Records"] else None

    def _kafka(self) -> Iterator[StoredBytes]:
        """Read the segment files of all topics, decompressed."""
        prefix = self._installation.space.topic_prefix
        for node in self._nodes(Engine.KAFKA):
            for path in sorted((node.data / "log").glob("*/*.log")):
                topic = path.parent.name.removeprefix(prefix).rpartition("-")[0]
                for records in record_batches(path.read_bytes()):
                    yield StoredBytes("kafka", topic, records)

    def _valkey(self) -> Iterator[StoredBytes]:
        port, cursor = int(self._installation.redis_url.rpartition(":")[2]), b"0"
        ask(port, "CONFIG", "SET", "rdbcompression", "no")
        ask(port, "SAVE")
        while True:
            cursor, keys = ask(port, "SCAN", cursor, "COUNT", _SCAN_COUNT)  # type: ignore[misc]  # replies are untyped
            for key in keys:  # type: ignore[has-type]
                yield StoredBytes(
                    "valkey", key.decode(errors="replace"), key + b"\n" + _redis_value(port, key)
                )
            if cursor == b"0":
                return

    async def _objects(self) -> AsyncIterator[StoredBytes]:
        async with open_bucket(self._s3, self._installation.space) as bucket:
            for key in [key async for key in bucket.keys("")]:
                yield StoredBytes(
                    "objects", _kind_of_object(key), b"".join([part async for part in bucket.read(key)])
                )

    def _files(self) -> Iterator[StoredBytes]:
        """Read the index, the files of the engines, and all logs. Records of Kafka are read above."""
        yield StoredBytes("index", "", self.index(), is_file=True)
        yield StoredBytes("logs", "processes", self._process_logs(), is_file=True)
        for node in self._nodes(*Engine):
            yield StoredBytes("logs", node.name, node.log.read_bytes(), is_file=True)
            if node.engine is not Engine.KAFKA:
                for path in sorted(node.data.rglob("*")):
                    yield StoredBytes(f"files of {node.kind}", path.suffix, _read(path), is_file=True)

    def index(self) -> bytes:
        """Return the content of all files of the search index."""
        return _content(self._installation.directory / ".tidings" / "search")

    def _process_logs(self) -> bytes:
        return "\n".join(
            [
                json.dumps(line, ensure_ascii=False)
                for each in self._installation.started
                for line in each.lines
            ]
            + [each.stderr for each in self._installation.started]
        ).encode()

    def _nodes(self, *engines: Engine) -> list[EngineNode]:
        found = (each.node for fleet in self._fleets for each in fleet.status())
        return [node for node in found if node.engine in engines]

    async def reclaim(self) -> None:
        """Have the engines reclaim the space of deleted data, as they do on their own some time later.

        The engine of the tables is SQLite here. DynamoDB itself has no files that an operator can read.
        """
        for node in self._nodes(Engine.DYNAMO, Engine.S3):
            if node.kind == "dynoxide":
                await asyncio.to_thread(_vacuum_tables, dynoxide.database(node))
            elif node.kind == "seaweedfs":
                await asyncio.to_thread(_vacuum_volumes, node)


def _vacuum_tables(path: Path) -> None:
    with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as database:
        database.execute("VACUUM")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _vacuum_volumes(node: EngineNode) -> None:
    address = f"http://127.0.0.1:{node.ports['master.port']}/vol/vacuum?garbageThreshold=0"
    with urlopen(address, timeout=120) as answer:
        answer.read()


def _plain(item: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: _ITEM.deserialize(value) for name, value in item.items()}
    return {name: _bytes_in(value) for name, value in found.items()}


def _bytes_in(value: Any) -> Any:
    """Replace the binaries of boto3 by bytes."""
    match value:
        case list():
            return [_bytes_in(each) for each in value]
        case _ if hasattr(value, "value") and isinstance(value.value, bytes):
            return value.value
    return value


def _values(value: Any) -> Iterator[bytes]:
    match value:
        case bytes():
            yield value
        case Mapping():
            for name, each in value.items():
                yield str(name).encode()
                yield from _values(each)
        case str():
            yield value.encode()
        case list() | set():
            for each in value:
                yield from _values(_bytes_in(each))
        case _:
            yield str(value).encode()


def _redis_value(port: int, key: bytes) -> bytes:
    read = {
        b"string": ("GET", key),
        b"hash": ("HGETALL", key),
        b"list": ("LRANGE", key, 0, -1),
        b"set": ("SMEMBERS", key),
        b"zset": ("ZRANGE", key, 0, -1),
        b"stream": ("XRANGE", key, "-", "+"),
    }
    kind = ask(port, "TYPE", key)
    kind = kind.encode() if isinstance(kind, str) else kind
    return b"" if kind == b"none" else _reply_bytes(ask(port, *read[kind]))  # type: ignore[index]


def _reply_bytes(reply: object) -> bytes:
    if isinstance(reply, (list, tuple, set, frozenset)):
        return b"\n".join(map(_reply_bytes, reply))
    return reply if isinstance(reply, bytes) else str(reply).encode()


def _kind_of_object(key: str) -> str:
    return "exports" if "/exports/" in key else "uploads"


def _content(directory: Path) -> bytes:
    return b"\n".join(filter(None, map(_read, sorted(directory.rglob("*")))))


def _read(path: Path) -> bytes:
    """Return the content of a file, or nothing if its process has deleted it meanwhile."""
    try:
        return path.read_bytes() if path.is_file() else b""
    except FileNotFoundError:
        return b""
