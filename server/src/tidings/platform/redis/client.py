"""The Redis client that adapters use. The other files of this folder are its parts.

redis = await RedisClient.connect(RedisOptions.from_url(url))
await redis.write("SET", redis.keys.key("acme", "ann", "route"), "gateway-7", "EX", 60)
"""

import asyncio
from collections.abc import Sequence

from msgspec import Struct

from tidings.platform.redis.command_router import CommandRouter, Script
from tidings.platform.redis.errors import RedisError
from tidings.platform.redis.keys import Key, KeyBuilder, slot
from tidings.platform.redis.options import RedisOptions
from tidings.platform.redis.pipeline import Arg, Reply, pack_command
from tidings.platform.redis.pubsub import ChannelHandler, ChannelSubscription, SubscriptionRegistry
from tidings.platform.redis.topology import ClusterTopology, SingleNode, Topology

# All callers share one connection. These commands would block it or change its state.
_BLOCKING = "BLMOVE BLMPOP BLPOP BRPOP BRPOPLPUSH BZMPOP BZPOPMAX BZPOPMIN WAIT WAITAOF XREAD XREADGROUP"
_STATEFUL = "AUTH DISCARD EXEC HELLO MONITOR MULTI QUIT READONLY RESET SELECT WATCH"
_SUBSCRIBING = "PSUBSCRIBE PSYNC SSUBSCRIBE SUBSCRIBE SYNC"
_NOT_SHARED = frozenset(f"{_BLOCKING} {_STATEFUL} {_SUBSCRIBING}".split())


class RedisHealth(Struct, frozen=True):
    is_well: bool
    text: str


class RedisClient:
    """A client for one event loop: create, use and close it there."""

    def __init__(self, options: RedisOptions) -> None:
        self.keys = KeyBuilder(options.key_prefix)
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._is_cluster = options.is_cluster
        self._nodes: Topology
        if options.is_cluster:
            self._nodes = ClusterTopology(options, self._on_nodes_changed)
        else:
            self._nodes = SingleNode(options, self._on_nodes_changed)
        self._subscriptions = SubscriptionRegistry(options, self._nodes)
        self._calls = CommandRouter(self._nodes)

    @classmethod
    async def connect(cls, options: RedisOptions, *, wait: bool = True) -> "RedisClient":
        """Create a client. With `wait`, return when it is connected, or raise the error of the first attempt."""
        redis = cls(options)
        if wait:
            try:
                await redis._nodes.ready()
            except BaseException:
                await redis.close()
                raise
        return redis

    async def read(self, command: str, key: Key, *args: Arg, timeout_s: float | None = None) -> Reply:
        """Run a command that changes nothing. It is sent again if the connection is lost before the answer."""
        frame = _frame(command, key, *args)
        return await self._calls.call(frame, self._slot(key), self._deadline(timeout_s), is_read=True)

    async def write(self, command: str, key: Key, *args: Arg, timeout_s: float | None = None) -> Reply:
        """Run a command that changes data. It is sent once. Raises `OutcomeUnknownError` if no answer arrives."""
        frame = _frame(command, key, *args)
        return await self._calls.call(frame, self._slot(key), self._deadline(timeout_s), is_read=False)

    async def run(
        self, script: Script, keys: Sequence[Key], *args: Arg, timeout_s: float | None = None
    ) -> Reply:
        """Run a Lua script, atomically on its node. An unanswered run is repeated only if the script just reads."""
        _check_keys(script, keys)
        return await self._calls.run(script, keys, args, self._deadline(timeout_s))

    async def run_each(self, script: Script, keys: Sequence[Sequence[Key]]) -> list[Reply | RedisError]:
        """Run a Lua script that only reads, once for each list of keys. Return the reply or the error of each, in order.

        Costs much less CPU than concurrent calls of `run`. The keys of different lists may be in different slots.
        """
        if not script.is_read:
            raise ValueError(f"{script.name} writes: its runs must not be repeated together")
        for each in keys:
            _check_keys(script, each)
        return await self._calls.read_each(script, keys, self._deadline(None))

    async def publish(self, channel: Key, payload: bytes, *, timeout_s: float | None = None) -> int:
        """Publish a message and return the number of subscribers that it was sent to."""
        frame = pack_command("SPUBLISH", channel, payload)
        count = await self._calls.call(frame, self._slot(channel), self._deadline(timeout_s), is_read=False)
        return count if isinstance(count, int) else 0

    async def subscribe(self, channel: Key, sink: ChannelHandler) -> ChannelSubscription:
        """Subscribe, and return after the server has confirmed it.

        Raises `UnreachableError`: at once if the channel's node is known to be unreachable, else after `confirm_s`.
        After a loss, the client subscribes again and sends `sink` the events `ChannelLost` and `ChannelSubscribed`.
        """
        self._subscriptions.check(channel)
        subscription = self._subscriptions.add(channel, sink)
        await subscription.confirmed()
        return subscription

    def subscribe_soon(self, channel: Key, sink: ChannelHandler) -> ChannelSubscription:
        """Subscribe without waiting. `sink` receives `ChannelSubscribed` when the server has confirmed it."""
        return self._subscriptions.add(channel, sink)

    def health(self) -> RedisHealth:
        """Return whether all nodes answer and all channels are subscribed, with the problems as text."""
        links = [*self._nodes.links(), *(listener.link for listener in self._subscriptions.listeners())]
        troubles = {f"{link.address}: {trouble}": None for link in links if (trouble := link.health())}
        missing = [each for each in self._subscriptions.lost() if troubles or each.is_overdue]
        problems = [
            *troubles,
            *(f"{each.channel} is not subscribed: {each.trouble}" for each in missing),
        ]
        return RedisHealth(is_well=not problems, text="; ".join(problems) or "answers")

    async def close(self) -> None:
        await self._subscriptions.close()
        await self._nodes.close()

    def _on_nodes_changed(self) -> None:
        self._subscriptions.relocate() if self._is_cluster else self._subscriptions.reopen()

    def _slot(self, key: Key) -> int:
        return slot(key) if self._is_cluster else 0

    def _deadline(self, timeout_s: float | None) -> float:
        return self._loop.time() + (self._options.timeout_s if timeout_s is None else timeout_s)


def _check_keys(script: Script, keys: Sequence[Key]) -> None:
    if len(keys) != script.key_count:
        raise ValueError(f"{script.name} takes {script.key_count} keys, not {len(keys)}")


def _frame(command: str, *args: Arg) -> bytes:
    if command in _NOT_SHARED:
        raise ValueError(
            f"{command} is not allowed: it would block or change the connection that all callers share"
        )
    return pack_command(command, *args)
