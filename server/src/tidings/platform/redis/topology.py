"""The nodes: a cluster, whose slot map is read from any node, or a single node.

The map is read regularly, and again after any sign of a change. Many redirected commands cause one read.
"""

import asyncio
import contextlib
import random
from collections.abc import Callable, Iterator
from typing import Protocol

from tidings.platform.redis.connection import RedisConnection
from tidings.platform.redis.errors import Address, ClusterDownError, RedisError, UnreachableError
from tidings.platform.redis.keys import SLOTS
from tidings.platform.redis.options import RedisOptions
from tidings.platform.redis.pipeline import Push, Reply, pack_command

_SLOTS_COMMAND = pack_command("CLUSTER", "SLOTS")
_SHORTEST_SPACING_S = 0.05
_LONGEST_SPACING_S = 1.0

type Shard = tuple[int, int, Address]
"""First slot, last slot, primary."""


class ClusterTopology:
    def __init__(self, options: RedisOptions, on_change: Callable[[], None]) -> None:
        self.is_known = False
        self._options = options
        self._on_change = on_change
        self._loop = asyncio.get_running_loop()
        self._owners: list[Address | None] = [None] * SLOTS
        self._links: dict[Address, RedisConnection] = {}
        self._trouble = "not connected yet"
        self._stale = asyncio.Event()
        self._settled = asyncio.Event()
        self._retired: dict[RedisConnection, asyncio.TimerHandle] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._task = self._loop.create_task(self._refresh_forever())

    def link(self, slot: int) -> RedisConnection:
        address = self._owners[slot]
        if address is None:
            self.mark_stale()
            raise ClusterDownError(f"CLUSTERDOWN No node has slot {slot}.")
        return self.at(address)

    def owner(self, slot: int) -> Address | None:
        return self._owners[slot]

    def at(self, address: Address) -> RedisConnection:
        link = self._links.get(address)
        if link is None:
            link = self._links[address] = RedisConnection(address, self._options, self)
        return link

    def moved(self, slot: int, address: Address) -> None:
        self._owners[slot] = address
        self.mark_stale()

    def mark_stale(self) -> None:
        self._stale.set()

    def report_unreachable(self) -> None:
        self.mark_stale()

    async def ready(self) -> None:
        await self._settled.wait()
        if not self.is_known:
            raise UnreachableError(f"No node of the cluster returned its slot map: {self._trouble}")

    def links(self) -> list[RedisConnection]:
        return list(self._links.values())

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])
        for timer in self._retired.values():
            timer.cancel()
        await asyncio.gather(*self._closing, *(link.close() for link in [*self.links(), *self._retired]))

    def on_connected(self) -> None: ...

    def on_disconnected(self, reason: str) -> None:
        """Refresh the map: another node may have the slots now."""
        del reason
        self.mark_stale()

    def on_push(self, push: Push) -> None: ...

    async def _refresh_forever(self) -> None:
        failures, spacing_s = 0, _SHORTEST_SPACING_S
        while True:
            self._stale.clear()
            before = self._owners
            failures = 0 if await self._refresh() else failures + 1
            self._settled.set()
            if failures:
                await asyncio.sleep(self._options.pause_s(failures))
                continue
            # While commands keep marking an unchanged map as stale, read it less and less often.
            is_same = self._owners == before
            spacing_s = min(spacing_s * 2, _LONGEST_SPACING_S) if is_same else _SHORTEST_SPACING_S
            await asyncio.sleep(spacing_s * (0.5 + random.random()))  # noqa: S311 - no secret
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._options.refresh_s * (0.5 + random.random() / 2)):  # noqa: S311
                    await self._stale.wait()

    async def _refresh(self) -> bool:
        """Read the map from one node after the other until one succeeds."""
        for link in self._candidates():
            try:
                reply = await link.submit(_SLOTS_COMMAND, self._loop.time() + self._options.timeout_s)
            except RedisError as error:
                self._trouble = str(error)
                continue
            if shards := list(parse_slots(reply, link.address)):
                self._apply(shards)
                return True
            self._trouble = f"{link.address}: its slot map is empty"
        return False

    def _candidates(self) -> Iterator[RedisConnection]:
        """Return connected nodes in random order, then the others. Random, so that a node with an old map is not always first."""
        links = self.links()
        random.shuffle(links)
        links.sort(key=lambda link: not link.is_connected)
        yield from links
        yield from (self.at(seed) for seed in self._options.seeds if seed not in self._links)

    def _apply(self, shards: list[Shard]) -> None:
        owners: list[Address | None] = [None] * SLOTS
        for first, last, address in shards:
            owners[first : last + 1] = [address] * (last + 1 - first)
        self._owners, self.is_known, self._trouble = owners, True, ""
        named = {address for _, _, address in shards}
        for address in set(self._links) - named:
            self._retire(self._links.pop(address))
        for address in named:
            self.at(address)
        self._on_change()

    def _retire(self, link: RedisConnection) -> None:
        """Close a connection after `timeout_s`, when its commands have been answered or have timed out."""

        def close() -> None:
            del self._retired[link]
            task = self._loop.create_task(link.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

        self._retired[link] = self._loop.call_later(self._options.timeout_s, close)


def parse_slots(reply: Reply, asked: Address) -> Iterator[Shard]:
    """Parse CLUSTER SLOTS: first slot, last slot, primary, replicas. A node may omit its own host name."""
    if not isinstance(reply, list):
        return
    for entry in reply:
        match entry:
            case [int(first), int(last), [bytes(host), int(port), *_], *_]:
                yield first, last, Address(host.decode() or asked.host, port)
            case [int(first), int(last), [None, int(port), *_], *_]:
                yield first, last, Address(asked.host, port)


class Topology(Protocol):
    is_known: bool
    """Whether the slot map is known. Always true for a single node."""

    def link(self, slot: int) -> RedisConnection:
        """Return the connection to the node of a slot. Raises `ClusterDownError` if no node has it."""

    def owner(self, slot: int) -> Address | None:
        """Return the node of a slot, or None if unknown."""

    def at(self, address: Address) -> RedisConnection:
        """Return the connection to a node that a redirection named."""

    def moved(self, slot: int, address: Address) -> None:
        """Record a MOVED redirection. The rest of the map may be stale too."""

    def mark_stale(self) -> None:
        """Record an answer that suggests a failover or a moved slot."""

    def report_unreachable(self) -> None:
        """Record that a command could not be sent in time."""

    async def ready(self) -> None:
        """Wait for the first attempt to reach the nodes. Raises its error."""

    def links(self) -> list[RedisConnection]: ...

    async def close(self) -> None: ...


class SingleNode:
    is_known = True

    def __init__(self, options: RedisOptions, on_change: Callable[[], None]) -> None:
        self._link = RedisConnection(options.seeds[0], options, self)
        self._on_change = on_change

    def link(self, slot: int) -> RedisConnection:
        del slot
        return self._link

    def owner(self, slot: int) -> Address | None:
        del slot
        return self._link.address

    def at(self, address: Address) -> RedisConnection:
        del address
        return self._link

    def moved(self, slot: int, address: Address) -> None:
        """Do nothing: a single node does not redirect."""

    def mark_stale(self) -> None:
        """Reconnect after a refused write: the host name may point to another machine after a failover."""
        if self._link.is_connected:
            self._link.reopen("the node refuses writes")
            self._on_change()

    def report_unreachable(self) -> None:
        """Do nothing. The connection is retried anyway; reopening one that was just established would fail waiting commands."""

    async def ready(self) -> None:
        await self._link.wait_connected()

    def links(self) -> list[RedisConnection]:
        return [self._link]

    async def close(self) -> None:
        await self._link.close()

    def on_connected(self) -> None: ...

    def on_disconnected(self, reason: str) -> None: ...

    def on_push(self, push: Push) -> None: ...
