"""Which link a command takes: what one node and a cluster have in common, and the case of one node."""

from collections.abc import Callable
from typing import Protocol

from tidings.platform.redis.errors import Address
from tidings.platform.redis.link import RedisConnection
from tidings.platform.redis.options import RedisOptions
from tidings.platform.redis.resp import Push


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
