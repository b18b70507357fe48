"""What stands in Redis of this installation: who listens there, and all of it taken out.

On plain connections, node by node: a client that goes by slots has no call for whole nodes.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from hiredis import Reader

from tidings.platform.redis.errors import Address
from tidings.platform.redis.options import RedisOptions
from tidings.platform.redis.resp import reply_reader
from tidings.run.doctor.redis import call_blocking, open_blocking_socket

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
