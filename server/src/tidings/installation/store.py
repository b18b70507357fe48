"""Store the installation's row: its epoch, the id of the table of its log, and the format of its data. A new installation has no row.

The row is in the table of the tenants, which is backed up: after a restore it is as old as the backup.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple

from hiredis import Reader

from tidings.kernel.clock import Clock, format_ms
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item
from tidings.platform.dynamo.errors import ConditionFailedError
from tidings.platform.redis.connection import call_blocking, open_blocking_socket
from tidings.platform.redis.errors import Address
from tidings.platform.redis.options import RedisOptions
from tidings.platform.redis.pipeline import reply_reader
from tidings.schema.tables.declaration import MESSAGES
from tidings.schema.tables.items.accounts import INSTALLATION_KEY, SYSTEM
from tidings.schema.tables.patterns import accounts as patterns

_KEY = {"tenant": SYSTEM.render(), "item": INSTALLATION_KEY.render()}
_ABSENT = "attribute_not_exists(tenant)"
_AS_READ = "epoch = :epoch AND phase = :phase"

WRITTEN_FORMAT: Final = 1
"""The format of stored data that this version writes."""

NEWEST_FORMAT: Final = 1
"""The newest format that this version reads. It is raised one minor version before `WRITTEN_FORMAT`, so that a minor
version and the one before it can run at the same time."""


class RestorePhase(StrEnum):
    """While the installation is closed, a restore is in progress and no process serves."""

    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Installation:
    """`restored_to`: the time of the backup, as passed to `tidings restore finish`. `log_id`: DynamoDB's id of the table
    `messages`; a copy of the table has another id. `data_format`: the newest format that stored data may have.
    """

    epoch: int = 0
    phase: RestorePhase = RestorePhase.OPEN
    restored_to: str = ""
    log_id: str = ""
    data_format: int = WRITTEN_FORMAT


class InstallationStore:
    def __init__(self, client: DynamoClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    async def read(self) -> Installation | None:
        item = await self._client.get(patterns.READ_EPOCH, _KEY)
        return None if item is None else _of(item)

    async def begin(self, first: Installation) -> None:
        """Write the first row, unless another process has written it before."""
        try:
            await self._client.put(
                patterns.BEGIN_EPOCH, self._item(first), condition=_ABSENT, repeatable=True
            )
        except ConditionFailedError:
            return

    async def change(self, before: Installation | None, after: Installation) -> bool:
        """Replace the row; return False if the stored row is not `before`."""
        values = None if before is None else {":epoch": before.epoch, ":phase": before.phase.value}
        condition = _ABSENT if before is None else _AS_READ
        try:
            await self._client.put(
                patterns.RAISE_EPOCH, self._item(after), condition=condition, values=values, repeatable=True
            )
        except ConditionFailedError:
            return await self.read() == after
        return True

    async def record_format(self) -> None:
        """Record that this version writes the data, unless a newer format is recorded. Repeat it after a conflict.

        Without a row, the first process writes one.
        """
        found = await self.read()
        while found is not None and found.data_format < WRITTEN_FORMAT:
            if await self.change(found, replace(found, data_format=WRITTEN_FORMAT)):
                return
            found = await self.read()

    async def log_id(self) -> str:
        """Return the id of the table `messages`; its creation time with an engine that has no table ids."""
        told = await self._client.describe(MESSAGES.name)
        return str(told.get("TableId") or told.get("CreationDateTime", ""))

    def _item(self, row: Installation) -> Item:
        return _KEY | {
            "epoch": row.epoch,
            "phase": row.phase.value,
            "restored_to": row.restored_to,
            "log_id": row.log_id,
            "data_format": row.data_format,
            "updated_at": format_ms(self._clock.now_ms()),
        }


def _of(item: Item) -> Installation:
    return Installation(
        epoch=int(item["epoch"]),
        phase=RestorePhase(item["phase"]),
        restored_to=str(item["restored_to"]),
        log_id=str(item["log_id"]),
        data_format=int(item.get("data_format", 1)),
    )


_MAX_CONCURRENT: Final = 1_000
_LISTED: Final = 3
"""A line of CLUSTER NODES: id, address, flags, …"""


class _NodeConnection(NamedTuple):
    sock: socket.socket
    answers: Reader

    def call(self, *words: str) -> object:
        return call_blocking(self.sock, self.answers, *words)


def active_channels(options: RedisOptions) -> int:
    """Count the channels with subscribers: one for each gateway, and one for each large chat with connected members."""
    found: set[bytes] = set()
    for node in _primaries(options):
        with _connect(options, node) as connection:
            found.update(_texts(connection.call("PUBSUB", "SHARDCHANNELS", _key_pattern(options))))
    return len(found)


def delete_all_keys(options: RedisOptions) -> int:
    """Delete every key with the prefix on every primary, and return their number."""
    return sum(_delete_keys(options, node) for node in _primaries(options))


def _delete_keys(options: RedisOptions, node: Address) -> int:
    """Delete the keys of one node. SCAN returns every key that exists throughout; no process runs that adds keys."""
    count, cursor = 0, "0"
    with _connect(options, node) as connection:
        while True:
            reply = connection.call(
                "SCAN", cursor, "MATCH", _key_pattern(options), "COUNT", str(_MAX_CONCURRENT)
            )
            at, keys = reply if isinstance(reply, list) else (b"0", [])
            for key in _texts(keys):
                connection.call("UNLINK", key.decode())
                count += 1
            cursor = at.decode()
            if cursor == "0":
                return count


def _primaries(options: RedisOptions) -> list[Address]:
    seed = options.seeds[0]
    if not options.is_cluster:
        return [seed]
    with _connect(options, seed) as connection:
        reply = connection.call("CLUSTER", "NODES")
    text = (reply if isinstance(reply, bytes) else b"").decode()
    nodes = [fields for fields in map(str.split, text.splitlines()) if len(fields) >= _LISTED]
    return [_address(at, seed) for _, at, flags, *_ in nodes if "master" in flags and "fail" not in flags]


def _address(text: str, seed: Address) -> Address:
    """Parse `10.0.0.1:6379@16379,name`. An address without a host is the node that answered."""
    host, _, port = text.partition("@")[0].rpartition(":")
    return Address(host or seed.host, int(port))


@contextmanager
def _connect(options: RedisOptions, node: Address) -> Iterator[_NodeConnection]:
    with open_blocking_socket(options, node) as sock:
        connection = _NodeConnection(sock, reply_reader())
        connection.call(*options.hello)
        yield connection


def _key_pattern(options: RedisOptions) -> str:
    """Return a pattern that matches the prefix literally."""
    return "".join(f"\\{sign}" if sign in r"*?[]\^-" else sign for sign in options.key_prefix) + ":*"


def _texts(reply: object) -> list[bytes]:
    return [each for each in reply if isinstance(each, bytes)] if isinstance(reply, list | set) else []
