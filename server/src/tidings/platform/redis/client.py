"""The client: what adapters use. Everything else in this folder is behind it.

redis = await Redis.connect(Options.from_url(url))
await redis.write("SET", redis.keys.key("acme", "ann", "route"), "gateway-7", "EX", 60)
"""

import asyncio
from collections.abc import Sequence

from msgspec import Struct

from tidings.platform.redis.command_router import CommandRouter, Script
from tidings.platform.redis.keys import Key, KeyBuilder, common_slot, slot
from tidings.platform.redis.options import RedisOptions
from tidings.platform.redis.pipeline import Arg, Reply, pack_command
from tidings.platform.redis.pubsub import ChannelHandler, ChannelSubscription, SubscriptionRegistry
from tidings.platform.redis.topology import ClusterTopology, SingleNode, Topology

# Commands that would block the connection, or change what it means to everybody else on it.
_NOT_SHARED = frozenset(
    {
        *("BLMOVE", "BLMPOP", "BLPOP", "BRPOP", "BRPOPLPUSH", "BZMPOP", "BZPOPMAX", "BZPOPMIN"),
        *("WAIT", "WAITAOF", "XREAD", "XREADGROUP"),
        *(
            "AUTH",
            "DISCARD",
            "EXEC",
            "HELLO",
            "MONITOR",
            "MULTI",
            "QUIT",
            "READONLY",
            "RESET",
            "SELECT",
            "WATCH",
        ),
        *("PSUBSCRIBE", "PSYNC", "SSUBSCRIBE", "SUBSCRIBE", "SYNC"),
    }
)


class RedisHealth(Struct, frozen=True):
    is_well: bool
    text: str


class RedisClient:
    """Made in a running loop, used in that loop, closed in it."""

    def __init__(self, options: RedisOptions) -> None:
        self.keys = KeyBuilder(options.key_prefix)
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._is_cluster = options.is_cluster
        self._subscriptions = SubscriptionRegistry(options)
        self._nodes = _nodes(options, self._subscriptions)
        self._subscriptions.nodes = self._nodes
        self._calls = CommandRouter(self._nodes)

    @classmethod
    async def connect(cls, options: RedisOptions, *, wait: bool = True) -> "RedisClient":
        """With `wait` the first connection stands, or its failure is raised; without, it may come later."""
        redis = cls(options)
        if wait:
            try:
                await redis._nodes.ready()
            except BaseException:
                await redis.close()
                raise
        return redis

    async def read(self, command: str, key: Key, *args: Arg, timeout_s: float | None = None) -> Reply:
        """A command that changes nothing; it is sent once more if the connection is lost under it."""
        place = self._slot(key)
        return await self._calls.call(
            _frame(command, key, *args), place, self._deadline(timeout_s), is_read=True
        )

    async def write(self, command: str, key: Key, *args: Arg, timeout_s: float | None = None) -> Reply:
        """A command that changes something: sent once, and `OutcomeUnknownError` if nobody knows what became of it."""
        place = self._slot(key)
        return await self._calls.call(
            _frame(command, key, *args), place, self._deadline(timeout_s), is_read=False
        )

    async def read_many(
        self, command: str, keys: Sequence[Key], *args: Arg, timeout_s: float | None = None
    ) -> Reply:
        """As `read`, with several keys of one slot, as in MGET."""
        frame, place = _frame(command, *keys, *args), common_slot(keys)
        return await self._calls.call(frame, place, self._deadline(timeout_s), is_read=True)

    async def write_many(
        self, command: str, keys: Sequence[Key], *args: Arg, timeout_s: float | None = None
    ) -> Reply:
        """As `write`, with several keys of one slot, as in DEL."""
        frame, place = _frame(command, *keys, *args), common_slot(keys)
        return await self._calls.call(frame, place, self._deadline(timeout_s), is_read=False)

    async def run(
        self, script: Script, keys: Sequence[Key], *args: Arg, timeout_s: float | None = None
    ) -> Reply:
        """A Lua script, atomic on its node. Never repeated when unanswered, unless it only reads."""
        if len(keys) != script.key_count:
            raise ValueError(f"{script.name} takes {script.key_count} keys, not {len(keys)}")
        return await self._calls.run(script, keys, args, self._deadline(timeout_s))

    async def publish(self, channel: Key, payload: bytes, *, timeout_s: float | None = None) -> int:
        """How many subscribers it was sent to; 0 means that nobody listens."""
        frame, place = pack_command("SPUBLISH", channel, payload), self._slot(channel)
        count = await self._calls.call(frame, place, self._deadline(timeout_s), is_read=False)
        return count if isinstance(count, int) else 0

    async def subscribe(self, channel: Key, sink: ChannelHandler) -> ChannelSubscription:
        """Subscribe, and return after the server has confirmed it.

        Raise `UnreachableError` at once where the channel's node is known not to answer, else after `confirm_s`. A
        subscription that was confirmed comes back by itself after a loss, and says so.
        """
        self._subscriptions.check(channel)
        subscription = self._subscriptions.add(channel, sink)
        await subscription.confirmed()
        return subscription

    def subscribe_soon(self, channel: Key, sink: ChannelHandler) -> ChannelSubscription:
        """As `subscribe`, without waiting: the sink is told `Subscribed` whenever the server can be reached."""
        return self._subscriptions.add(channel, sink)

    def health(self) -> RedisHealth:
        """In words, for a health page and for whoever is woken by it."""
        links = [*self._nodes.links(), *(listener.link for listener in self._subscriptions.listeners())]
        troubles = {f"{link.address}: {trouble}": None for link in links if (trouble := link.health())}
        missing = [each for each in self._subscriptions.lost() if troubles or each.is_overdue]
        fallen = [f"{each.channel} is not subscribed: {each.trouble}" for each in missing]
        words = [*troubles, *fallen]
        return RedisHealth(is_well=not words, text="; ".join(words) or "answers")

    async def close(self) -> None:
        await self._subscriptions.close()
        await self._nodes.close()

    def _slot(self, key: Key) -> int:
        return slot(key) if self._is_cluster else 0

    def _deadline(self, timeout_s: float | None) -> float:
        return self._loop.time() + (self._options.timeout_s if timeout_s is None else timeout_s)


def _frame(command: str, *args: Arg) -> bytes:
    if command in _NOT_SHARED:
        raise ValueError(f"{command} would hold up or change the connection that all commands share")
    return pack_command(command, *args)


def _nodes(options: RedisOptions, subscriptions: SubscriptionRegistry) -> Topology:
    if options.is_cluster:
        return ClusterTopology(options, subscriptions.relocate)
    return SingleNode(options, subscriptions.reopen)
