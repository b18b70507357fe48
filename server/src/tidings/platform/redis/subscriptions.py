"""All subscriptions of a client: each at the node that has its slot, and moved there again when that changes.

A subscription is at one node at a time. It is taken to another only after the first has let go of it, so
that nobody is told "one listener" by a node whose messages we no longer read.
"""

import asyncio

from tidings.platform.redis.errors import Address, MovedRedirectError
from tidings.platform.redis.events import ChannelHandler
from tidings.platform.redis.keys import Key, slot
from tidings.platform.redis.listener import PubSubConnection
from tidings.platform.redis.nodes import Topology
from tidings.platform.redis.options import RedisOptions
from tidings.platform.redis.resp import Reply
from tidings.platform.redis.subscription import ChannelSubscription

_TRIES_WITHOUT_PAUSE = 2


class SubscriptionRegistry:
    nodes: Topology

    def __init__(self, options: RedisOptions) -> None:
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._all: dict[Key, ChannelSubscription] = {}
        self._listeners: dict[Address, PubSubConnection] = {}
        self._connections: dict[ChannelSubscription, PubSubConnection] = {}
        self._moving: set[ChannelSubscription] = set()
        self._failures: dict[ChannelSubscription, int] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    def add(self, channel: Key, sink: ChannelHandler) -> ChannelSubscription:
        if channel in self._all:
            raise ValueError(f"{channel} has a subscriber in this process already")
        subscription = ChannelSubscription(channel, sink, self._options.confirm_s, self._closed)
        self._all[channel] = subscription
        self._assign(subscription)
        return subscription

    def check(self, channel: Key) -> None:
        """Raise `UnreachableError` if the channel's node is known not to answer."""
        owner = self.nodes.owner(slot(channel))
        if owner is not None:
            self.nodes.at(owner).check()
            if listener := self._listeners.get(owner):
                listener.link.check()

    def relocate(self) -> None:
        """The map was read: bring everybody to where he belongs by it."""
        for subscription in list(self._all.values()):
            listener = self._connections.get(subscription)
            owner = self.nodes.owner(subscription.slot)
            if listener is None:
                self._assign(subscription)
            elif owner is not None and owner != listener.address:
                self._move(subscription, listener, owner)
        self._close_idle()

    def reopen(self) -> None:
        """The single node may be another one by now: ask the name service again."""
        for listener in self._listeners.values():
            listener.link.reopen("it refuses writes")

    def listeners(self) -> list[PubSubConnection]:
        return list(self._listeners.values())

    def lost(self) -> list[ChannelSubscription]:
        """Those that do not stand."""
        return [subscription for subscription in self._all.values() if not subscription.is_subscribed]

    async def close(self) -> None:
        for subscription in list(self._all.values()):
            subscription.close()
        await asyncio.gather(*self._leaving, *(listener.link.close() for listener in self.listeners()))

    def _assign(self, subscription: ChannelSubscription) -> None:
        if subscription.is_closed or subscription in self._connections or subscription in self._moving:
            return
        owner = self.nodes.owner(subscription.slot)
        if owner is None:
            self.nodes.mark_stale()
            self._assign_later(subscription)
            return
        listener = self._listeners.get(owner)
        if listener is None:
            listener = self._listeners[owner] = PubSubConnection(owner, self._options, self._misplaced)
        self._connections[subscription] = listener
        listener.add(subscription)

    def _assign_later(self, subscription: ChannelSubscription) -> None:
        failures = self._failures[subscription] = self._failures.get(subscription, 0) + 1
        pause_s = self._options.pause_s(failures) if failures > _TRIES_WITHOUT_PAUSE else 0.0
        self._loop.call_later(pause_s, self._assign, subscription)

    def _misplaced(self, subscription: ChannelSubscription, error: BaseException | None) -> None:
        """Its node has let go of it, or has answered with an error."""
        self._connections.pop(subscription, None)
        if error is None:
            self._failures.pop(subscription, None)
            self.nodes.mark_stale()
        else:
            subscription.trouble = str(error)
        if isinstance(error, MovedRedirectError):
            self.nodes.moved(error.slot, error.address)
        self._assign_later(subscription)

    def _move(self, subscription: ChannelSubscription, listener: PubSubConnection, owner: Address) -> None:
        subscription.lose(listener.link.last_pong_at, f"{listener.address}: the slot has moved to {owner}")
        del self._connections[subscription]
        released = listener.remove(subscription)
        if released is None:
            self._assign(subscription)
            return

        def go_on(future: asyncio.Future[Reply]) -> None:
            future.exception()  # lost with its connection, or let go: both will do
            self._moving.discard(subscription)
            self._assign(subscription)

        self._moving.add(subscription)
        released.add_done_callback(go_on)

    def _closed(self, subscription: ChannelSubscription) -> None:
        self._all.pop(subscription.channel, None)
        self._failures.pop(subscription, None)
        listener = self._connections.pop(subscription, None)
        released = listener.remove(subscription) if listener else None
        if released is not None:
            released.add_done_callback(asyncio.Future.exception)

    def _close_idle(self) -> None:
        known = {link.address for link in self.nodes.links()}
        for address, listener in list(self._listeners.items()):
            if listener.is_idle and address not in known:
                task = self._loop.create_task(self._listeners.pop(address).link.close())
                self._leaving.add(task)
                task.add_done_callback(self._leaving.discard)
