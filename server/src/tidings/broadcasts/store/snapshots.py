"""Views in Redis, so that a process that starts reads a few entries and not ninety days of them."""

import asyncio
import zlib

import msgspec

from tidings.broadcasts.model import BroadcastLogId, BroadcastLogView
from tidings.kernel.decoding import wrap_decoder
from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.errors import RedisError
from tidings.platform.redis.keys import Key
from tidings.platform.telemetry import logs

_FORM = "1"
"""Goes up when a view's form changes: another one is not read."""
SNAPSHOT_TTL_S = 7 * 86_400
_TIMEOUT_S = 0.5
_encode = msgspec.msgpack.Encoder().encode
_decode = wrap_decoder(msgspec.msgpack.Decoder(BroadcastLogView).decode, msgspec.DecodeError)

log = logs.get_logger(__name__)


class RedisSnapshots:
    def __init__(self, redis: RedisClient) -> None:
        self._redis = redis
        self._writing: set[asyncio.Task[None]] = set()

    async def read(self, log: BroadcastLogId) -> BroadcastLogView | None:
        try:
            found = await self._redis.read("GET", self._key(log), timeout_s=_TIMEOUT_S)
            return _decode(zlib.decompress(found)) if isinstance(found, bytes) else None
        except (RedisError, msgspec.MsgspecError, zlib.error):
            return None

    def write(self, log: BroadcastLogId, view: BroadcastLogView) -> None:
        task = asyncio.create_task(self._write(log, view))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _write(self, at: BroadcastLogId, view: BroadcastLogView) -> None:
        try:
            packed = zlib.compress(_encode(view), 1)
            await self._redis.write("SET", self._key(at), packed, "EX", SNAPSHOT_TTL_S, timeout_s=_TIMEOUT_S)
        except RedisError as error:
            log.info("a snapshot was not written", reason=str(error))

    def _key(self, log: BroadcastLogId) -> Key:
        return self._redis.keys.key(log.tenant, log.inbox, "broadcasts", _FORM)


class NoSnapshots:
    """For processes without Redis: the log itself is read."""

    async def read(self, _: BroadcastLogId) -> BroadcastLogView | None:
        return None

    def write(self, _: BroadcastLogId, __: BroadcastLogView) -> None:
        pass
