"""What a subscriber is told, in the order in which it happened. Times are the loop's (monotonic) seconds."""

import asyncio
from collections.abc import Callable
from math import inf

from msgspec import Struct

from tidings.platform.redis.connection import RedisConnection
from tidings.platform.redis.errors import Address, MovedRedirectError, OverloadedError, UnreachableError
from tidings.platform.redis.keys import Key, slot
from tidings.platform.redis.options import RedisOptions
from tidings.platform.redis.pipeline import Push, Reply, pack_command
from tidings.platform.redis.topology import Topology


class ChannelMessage(Struct, frozen=True):
    """Somebody published this."""

    payload: bytes


class ChannelLost(Struct, frozen=True):
    """What was published after `since` may be missing, until `ChannelSubscribed` comes."""

    since: float
    reason: str


class ChannelSubscribed(Struct, frozen=True):
    """The server has confirmed: everything published from now on comes, until `ChannelLost`."""

    at: float
    lost_since: float | None = None
    """Since when messages may be missing; None at the first time."""


type ChannelEvent = ChannelMessage | ChannelLost | ChannelSubscribed
type ChannelHandler = Callable[[ChannelEvent], None]
"""Takes events one by one, at once and without blocking."""


class ChannelSubscription:
    """Its sink gets `ChannelSubscribed`, messages, `ChannelLost`, `ChannelSubscribed`, messages …; each loss is told once."""

    def __init__(
        self,
        channel: Key,
        sink: ChannelHandler,
        confirm_s: float,
        on_close: Callable[["ChannelSubscription"], None],
    ) -> None:
        self.channel = channel
        self.slot = slot(channel)
        self.is_subscribed = False
        self.is_closed = False
        self._sink = sink
        self._confirm_s = confirm_s
        self._on_close = on_close
        self._loop = asyncio.get_running_loop()
        self._confirmed = asyncio.Event()
        self._asked_at, self._stood_at = self._loop.time(), 0.0
        self._lost_since: float | None = None
        self.trouble = "not confirmed yet"

    @property
    def is_overdue(self) -> bool:
        """It does not stand, and that is not because it was asked for a moment ago."""
        is_new = not self._stood_at and self._loop.time() - self._asked_at < self._confirm_s
        return not self.is_subscribed and not is_new

    async def confirmed(self) -> None:
        """Wait for the server's word; without it in time, or if the caller leaves, nothing is subscribed."""
        try:
            async with asyncio.timeout(self._confirm_s):
                await self._confirmed.wait()
        except TimeoutError:
            self.close()
            raise UnreachableError(
                f"{self.channel}: not confirmed in {self._confirm_s} s: {self.trouble}"
            ) from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """No event comes after this."""
        if not self.is_closed:
            self.is_closed = True
            self._on_close(self)
            self.is_subscribed = False

    def deliver(self, payload: bytes) -> None:
        self._notify(ChannelMessage(payload))

    def stand(self) -> None:
        self.is_subscribed, self.trouble, self._stood_at = True, "", self._loop.time()
        self._confirmed.set()
        self._notify(ChannelSubscribed(self._stood_at, self._lost_since))

    def lose(self, proven_at: float, reason: str) -> None:
        """It stood, and the last proof of that is as old as this."""
        if self.is_subscribed:
            self.is_subscribed, self.trouble = False, reason
            self._lost_since = max(proven_at, self._stood_at)
            self._notify(ChannelLost(self._lost_since, reason))

    def _notify(self, event: ChannelEvent) -> None:
        if self.is_closed:
            return
        try:
            self._sink(event)
        except Exception as error:  # noqa: BLE001 - the connection and its other subscribers must not suffer
            context = {"message": f"the subscriber of {self.channel} failed", "exception": error}
            self._loop.call_exception_handler(context)


type OnSlotMoved = Callable[[ChannelSubscription, BaseException | None], None]
"""The node no longer has this subscription, or never took it; the error is its answer, if it gave one."""


class PubSubConnection:
    def __init__(self, address: Address, options: RedisOptions, on_misplaced: OnSlotMoved) -> None:
        self.address = address
        self._on_misplaced = on_misplaced
        self._wanted: dict[bytes, ChannelSubscription] = {}
        self._asked: dict[asyncio.Future[Reply], ChannelSubscription] = {}
        self.link = RedisConnection(address, options, self)

    @property
    def is_idle(self) -> bool:
        return not self._wanted

    def add(self, subscription: ChannelSubscription) -> None:
        self._wanted[subscription.channel.encode()] = subscription
        if self.link.is_connected:
            self._ask(subscription)

    def remove(self, subscription: ChannelSubscription) -> asyncio.Future[Reply] | None:
        """Done when the server has let go, so that it can't count us as a listener any more; None: it has."""
        if self._wanted.get(subscription.channel.encode()) is not subscription:
            return None
        del self._wanted[subscription.channel.encode()]
        if not self.link.is_connected:
            return None
        try:
            return self.link.submit_fenced(pack_command("SUNSUBSCRIBE", subscription.channel))
        except OverloadedError:
            self.link.reopen("too much in flight to unsubscribe")
            return None

    def stood(self) -> None:
        for subscription in list(self._wanted.values()):
            self._ask(subscription)

    def lost(self, reason: str) -> None:
        self._asked.clear()
        for subscription in list(self._wanted.values()):
            subscription.lose(self.link.last_pong_at, f"{self.address}: {reason}")

    def pushed(self, push: Push) -> None:
        kind, channel = push[0], push[1]
        if kind == b"smessage":
            subscription = self._wanted.get(channel)
            if subscription is not None and subscription.is_subscribed:
                subscription.deliver(push[2])
        elif kind == b"ssubscribe":
            self._confirm(channel, self._asked.pop(self.link.answer_by_push(push), None))
        elif kind == b"sunsubscribe":
            self._let_go(channel)

    def _ask(self, subscription: ChannelSubscription) -> None:
        try:
            future = self.link.submit(pack_command("SSUBSCRIBE", subscription.channel), inf)
        except (OverloadedError, UnreachableError) as error:
            self._misplace(subscription, error)
            return
        self._asked[future] = subscription
        future.add_done_callback(self._answered)

    def _confirm(self, channel: bytes, subscription: ChannelSubscription | None) -> None:
        """In the order of the wire: a message right behind the confirmation finds the subscription standing."""
        if subscription is not None and self._wanted.get(channel) is subscription:
            subscription.stand()

    def _let_go(self, channel: bytes) -> None:
        """Our own SUNSUBSCRIBE has been heeded; or, if we still want it, its slot has left the node."""
        subscription = self._wanted.get(channel)
        if subscription is not None and subscription.is_subscribed:
            subscription.lose(self.link.last_pong_at, f"{self.address}: the slot has moved")
            self._misplace(subscription, None)

    def _answered(self, future: asyncio.Future[Reply]) -> None:
        """An error in place of the confirmation. (After a loss of the connection all are asked for anew.)"""
        error, subscription = future.exception(), self._asked.pop(future, None)
        if error is not None and subscription is not None:
            self._misplace(subscription, error)

    def _misplace(self, subscription: ChannelSubscription, error: BaseException | None) -> None:
        if self._wanted.get(subscription.channel.encode()) is subscription:
            del self._wanted[subscription.channel.encode()]
            self._on_misplaced(subscription, error)


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
