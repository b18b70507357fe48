"""The installation's own row: its epoch, and which table its log is. Without a row it is epoch 0 and new.

It stands beside the tenants, in a table that is backed up: so it is as old as the copy that a restore puts back.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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


class RestorePhase(StrEnum):
    """While it is closed nobody serves: a restore is being finished."""

    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Installation:
    """`restored_to`: the moment that the tables were put back to, as `tidings restore finish` was told. `log_id`: DynamoDB's
    own id of the table `messages`; a copy has another.
    """

    epoch: int = 0
    phase: RestorePhase = RestorePhase.OPEN
    restored_to: str = ""
    log_id: str = ""


class InstallationStore:
    def __init__(self, client: DynamoClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    async def read(self) -> Installation | None:
        item = await self._client.get(patterns.READ_EPOCH, _KEY)
        return None if item is None else _of(item)

    async def begin(self, first: Installation) -> None:
        """Somebody else may have been first; what he wrote is then read."""
        try:
            await self._client.put(
                patterns.BEGIN_EPOCH, self._item(first), condition=_ABSENT, repeatable=True
            )
        except ConditionFailedError:
            return

    async def change(self, before: Installation | None, after: Installation) -> bool:
        """False: it is not, or no longer, as `before` says."""
        values = None if before is None else {":epoch": before.epoch, ":phase": before.phase.value}
        condition = _ABSENT if before is None else _AS_READ
        try:
            await self._client.put(
                patterns.RAISE_EPOCH, self._item(after), condition=condition, values=values, repeatable=True
            )
        except ConditionFailedError:
            return await self.read() == after
        return True

    async def log_id(self) -> str:
        """By its id; by when it was made, with an engine that gives none."""
        told = await self._client.describe(MESSAGES.name)
        return str(told.get("TableId") or told.get("CreationDateTime", ""))

    def _item(self, row: Installation) -> Item:
        return _KEY | {
            "epoch": row.epoch,
            "phase": row.phase.value,
            "restored_to": row.restored_to,
            "log_id": row.log_id,
            "updated_at": format_ms(self._clock.now_ms()),
        }


def _of(item: Item) -> Installation:
    return Installation(
        epoch=int(item["epoch"]),
        phase=RestorePhase(item["phase"]),
        restored_to=str(item["restored_to"]),
        log_id=str(item["log_id"]),
    )


_MAX_CONCURRENT: Final = 1_000
_LISTED: Final = 3
"""A line of CLUSTER NODES: id, address, flags, …"""


class _NodeConnection(NamedTuple):
    sock: socket.socket
    answers: Reader

    def ask(self, *words: str) -> object:
        return call_blocking(self.sock, self.answers, *words)


def active_channels(options: RedisOptions) -> int:
    """Channels that somebody listens to: each gateway has one, and one for every large chat that is looked at."""
    found: set[bytes] = set()
    for node in _primaries(options):
        with _line(options, node) as line:
            found.update(_texts(line.ask("PUBSUB", "SHARDCHANNELS", _ours(options))))
    return len(found)


def delete_all_keys(options: RedisOptions) -> int:
    """Every key under the prefix, on every primary; how many there were."""
    return sum(_emptied(options, node) for node in _primaries(options))


def _emptied(options: RedisOptions, node: Address) -> int:
    """SCAN sees every key that is there all the time; nobody adds any, because nobody runs."""
    count, cursor = 0, "0"
    with _line(options, node) as line:
        while True:
            reply = line.ask("SCAN", cursor, "MATCH", _ours(options), "COUNT", str(_MAX_CONCURRENT))
            at, keys = reply if isinstance(reply, list) else (b"0", [])
            for key in _texts(keys):
                line.ask("UNLINK", key.decode())
                count += 1
            cursor = at.decode()
            if cursor == "0":
                return count


def _primaries(options: RedisOptions) -> list[Address]:
    seed = options.seeds[0]
    if not options.is_cluster:
        return [seed]
    with _line(options, seed) as line:
        told = line.ask("CLUSTER", "NODES")
    text = (told if isinstance(told, bytes) else b"").decode()
    nodes = [fields for fields in map(str.split, text.splitlines()) if len(fields) >= _LISTED]
    return [_address(at, seed) for _, at, flags, *_ in nodes if "master" in flags and "fail" not in flags]


def _address(text: str, seed: Address) -> Address:
    """`10.0.0.1:6379@16379,name`; a node that knows no address of its own is the one that was asked."""
    host, _, port = text.partition("@")[0].rpartition(":")
    return Address(host or seed.host, int(port))


@contextmanager
def _line(options: RedisOptions, node: Address) -> Iterator[_NodeConnection]:
    with open_blocking_socket(options, node) as sock:
        line = _NodeConnection(sock, reply_reader())
        line.ask(*options.hello)
        yield line


def _ours(options: RedisOptions) -> str:
    """A pattern for the prefix as it is spelled."""
    return "".join(f"\\{sign}" if sign in r"*?[]\^-" else sign for sign in options.key_prefix) + ":*"


def _texts(reply: object) -> list[bytes]:
    return [each for each in reply if isinstance(each, bytes)] if isinstance(reply, list | set) else []
