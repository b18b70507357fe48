"""A cluster: who has which slot, read from any node, again after every sign of change, and from time to time.

A refresh is one question, however many commands were sent elsewhere meanwhile.
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
        self._doubted = asyncio.Event()
        self._settled = asyncio.Event()
        self._retired: dict[RedisConnection, asyncio.TimerHandle] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._task = self._loop.create_task(self._follow())

    def link(self, slot: int) -> RedisConnection:
        address = self._owners[slot]
        if address is None:
            self.mark_stale()
            raise ClusterDownError(f"CLUSTERDOWN no node has slot {slot}")
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
        self._doubted.set()

    def report_unreachable(self) -> None:
        self.mark_stale()

    async def ready(self) -> None:
        await self._settled.wait()
        if not self.is_known:
            raise UnreachableError(f"no node of the cluster tells its map: {self._trouble}")

    def links(self) -> list[RedisConnection]:
        return list(self._links.values())

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])
        for timer in self._retired.values():
            timer.cancel()
        await asyncio.gather(*self._closing, *(link.close() for link in [*self.links(), *self._retired]))

    def stood(self) -> None:
        """Commands need no word of it."""

    def lost(self, reason: str) -> None:
        """Perhaps its slots are elsewhere now."""
        del reason
        self.mark_stale()

    def pushed(self, push: Push) -> None:
        """Nothing is pushed where nothing was subscribed to."""

    async def _follow(self) -> None:
        failures, spacing_s = 0, _SHORTEST_SPACING_S
        while True:
            self._doubted.clear()
            before = self._owners
            failures = 0 if await self._refresh() else failures + 1
            self._settled.set()
            if failures:
                await asyncio.sleep(self._options.pause_s(failures))
                continue
            # a map that stays as it was, while somebody doubts it, is asked for ever more seldom
            is_same = self._owners == before
            spacing_s = min(spacing_s * 2, _LONGEST_SPACING_S) if is_same else _SHORTEST_SPACING_S
            await asyncio.sleep(spacing_s * (0.5 + random.random()))  # noqa: S311 - no secret
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._options.refresh_s * (0.5 + random.random() / 2)):  # noqa: S311
                    await self._doubted.wait()

    async def _refresh(self) -> bool:
        """Ask one node after the other until one tells a map."""
        for link in self._candidates():
            try:
                reply = await link.submit(_SLOTS_COMMAND, self._loop.time() + self._options.timeout_s)
            except RedisError as error:
                self._trouble = str(error)
                continue
            if shards := list(parse_slots(reply, link.address)):
                self._take(shards)
                return True
            self._trouble = f"{link.address}: it knows of no slots"
        return False

    def _candidates(self) -> Iterator[RedisConnection]:
        """Nodes that answer, in any order, so that one with an old map is not asked for ever; then the rest."""
        links = self.links()
        random.shuffle(links)
        links.sort(key=lambda link: not link.is_connected)
        yield from links
        yield from (self.at(seed) for seed in self._options.seeds if seed not in self._links)

    def _take(self, shards: list[Shard]) -> None:
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
        """Close it when everything in flight has been answered or is too late."""

        def close() -> None:
            del self._retired[link]
            task = self._loop.create_task(link.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

        self._retired[link] = self._loop.call_later(self._options.timeout_s, close)


def parse_slots(reply: Reply, asked: Address) -> Iterator[Shard]:
    """CLUSTER SLOTS: first, last, primary, replicas. A node that does not know its own name leaves it out."""
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
    """Whether it is known which node has which slot. On a single node always."""

    def link(self, slot: int) -> RedisConnection:
        """To the node that has the slot. Raises `ClusterDownError` if none has."""

    def owner(self, slot: int) -> Address | None:
        """Where the slot's subscriptions belong."""

    def at(self, address: Address) -> RedisConnection:
        """To a node that another node has named."""

    def moved(self, slot: int, address: Address) -> None:
        """A node said so. The rest of the map is doubtful too."""

    def mark_stale(self) -> None:
        """An answer suggests that the nodes have changed their places."""

    def report_unreachable(self) -> None:
        """A command could not be sent, or not in time."""

    async def ready(self) -> None:
        """Wait for the first try to reach them; raises what it met if they are still not known."""

    def links(self) -> list[RedisConnection]: ...

    async def close(self) -> None: ...


class SingleNode:
    is_known = True

    def __init__(self, options: RedisOptions, on_doubt: Callable[[], None]) -> None:
        self._link = RedisConnection(options.seeds[0], options, self)
        self._on_doubt = on_doubt

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
        """A single node sends nobody elsewhere."""

    def mark_stale(self) -> None:
        """It refuses writes: perhaps another machine has taken its place and its name."""
        if self._link.is_connected:
            self._link.reopen("it refuses writes")
            self._on_doubt()

    def report_unreachable(self) -> None:
        """It is dialled again anyway. It may stand by now: to give it up would keep those from it who wait for it."""

    async def ready(self) -> None:
        await self._link.closed()

    def links(self) -> list[RedisConnection]:
        return [self._link]

    async def close(self) -> None:
        await self._link.close()

    def stood(self) -> None:
        """Commands need no word of it."""

    def lost(self, reason: str) -> None:
        """Each command that was in flight has its own error."""

    def pushed(self, push: Push) -> None:
        """Nothing is pushed where nothing was subscribed to."""
