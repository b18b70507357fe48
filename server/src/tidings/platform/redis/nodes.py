"""Which link a command takes: what one node and a cluster have in common, and the case of one node."""

from collections.abc import Callable
from typing import Protocol

from tidings.platform.redis.errors import Address
from tidings.platform.redis.link import Link
from tidings.platform.redis.options import Options
from tidings.platform.redis.resp import Push


class Nodes(Protocol):
    is_known: bool
    """Whether it is known which node has which slot. On a single node always."""

    def link(self, slot: int) -> Link:
        """To the node that has the slot. Raises `ClusterDownError` if none has."""

    def owner(self, slot: int) -> Address | None:
        """Where the slot's subscriptions belong."""

    def at(self, address: Address) -> Link:
        """To a node that another node has named."""

    def moved(self, slot: int, address: Address) -> None:
        """A node said so. The rest of the map is doubtful too."""

    def doubt(self) -> None:
        """An answer suggests that the nodes have changed their places."""

    def unreached(self) -> None:
        """A command could not be sent, or not in time."""

    async def settled(self) -> None:
        """Wait for the first try to reach them; raises what it met if they are still not known."""

    def links(self) -> list[Link]: ...

    async def close(self) -> None: ...


class OneNode:
    is_known = True

    def __init__(self, options: Options, on_doubt: Callable[[], None]) -> None:
        self._link = Link(options.seeds[0], options, self)
        self._on_doubt = on_doubt

    def link(self, slot: int) -> Link:
        del slot
        return self._link

    def owner(self, slot: int) -> Address | None:
        del slot
        return self._link.address

    def at(self, address: Address) -> Link:
        del address
        return self._link

    def moved(self, slot: int, address: Address) -> None:
        """A single node sends nobody elsewhere."""

    def doubt(self) -> None:
        """It refuses writes: perhaps another machine has taken its place and its name."""
        if self._link.is_standing:
            self._link.reopen("it refuses writes")
            self._on_doubt()

    def unreached(self) -> None:
        """It is dialled again anyway. It may stand by now: to give it up would keep those from it who wait for it."""

    async def settled(self) -> None:
        await self._link.settled()

    def links(self) -> list[Link]:
        return [self._link]

    async def close(self) -> None:
        await self._link.close()

    def stood(self) -> None:
        """Commands need no word of it."""

    def lost(self, reason: str) -> None:
        """Each command that was in flight has its own error."""

    def pushed(self, push: Push) -> None:
        """Nothing is pushed where nothing was subscribed to."""
