"""Sharded pub/sub: subscriptions that survive lost connections and moved slots, and report every possible gap.

Times are the event loop's monotonic seconds.
"""

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
    payload: bytes


class ChannelLost(Struct, frozen=True):
    """Messages that were published after `since` may be missing, until the next `ChannelSubscribed`."""

    since: float
    reason: str


class ChannelSubscribed(Struct, frozen=True):
    """The server has confirmed the subscription. All messages from now on arrive, until `ChannelLost`."""

    at: float
    lost_since: float | None = None
    """Since when messages may be missing; None for the first subscription."""


type ChannelEvent = ChannelMessage | ChannelLost | ChannelSubscribed
type ChannelHandler = Callable[[ChannelEvent], None]
"""Handles one event at a time, without blocking."""


class ChannelSubscription:
    """One channel. Its sink receives `ChannelSubscribed`, messages, `ChannelLost`, `ChannelSubscribed`, messages …

    Each loss is reported once.
    """

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
        self._requested_at, self._subscribed_at = self._loop.time(), 0.0
        self._lost_since: float | None = None
        self.trouble = "not confirmed yet"

    @property
    def is_overdue(self) -> bool:
        """Return whether it is not subscribed, although it was requested more than `confirm_s` ago."""
        is_new = not self._subscribed_at and self._loop.time() - self._requested_at < self._confirm_s
        return not self.is_subscribed and not is_new

    async def confirmed(self) -> None:
        """Wait for the server's confirmation. If it is late or the caller is cancelled, the subscription is closed."""
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
        """Unsubscribe. The sink receives no event after this."""
        if not self.is_closed:
            self.is_closed = True
            self._on_close(self)
            self.is_subscribed = False

    def deliver(self, payload: bytes) -> None:
        self._notify(ChannelMessage(payload))

    def mark_subscribed(self) -> None:
        self.is_subscribed, self.trouble, self._subscribed_at = True, "", self._loop.time()
        self._confirmed.set()
        self._notify(ChannelSubscribed(self._subscribed_at, self._lost_since))

    def mark_lost(self, proven_at: float, reason: str) -> None:
        """Report a loss. `proven_at`: when the connection last proved that no message was missing."""
        if self.is_subscribed:
            self.is_subscribed, self.trouble = False, reason
            self._lost_since = max(proven_at, self._subscribed_at)
            self._notify(ChannelLost(self._lost_since, reason))

    def _notify(self, event: ChannelEvent) -> None:
        if self.is_closed:
            return
        try:
            self._sink(event)
        except Exception as error:  # noqa: BLE001 - it must not affect the connection and its other subscribers
            context = {"message": f"subscriber of {self.channel} failed", "exception": error}
            self._loop.call_exception_handler(context)


type OnSlotMoved = Callable[[ChannelSubscription, BaseException | None], None]
"""Called when a node dropped or refused a subscription; with the error, if the node answered with one."""


class PubSubConnection:
    """The connection to one node that carries its subscriptions."""

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
        """Unsubscribe. The future ends when the server no longer counts us as a subscriber; None if it already does not."""
        if self._wanted.get(subscription.channel.encode()) is not subscription:
            return None
        del self._wanted[subscription.channel.encode()]
        if not self.link.is_connected:
            return None
        try:
            return self.link.submit_fenced(pack_command("SUNSUBSCRIBE", subscription.channel))
        except OverloadedError:
            self.link.reopen("too many commands in flight to unsubscribe")
            return None

    def on_connected(self) -> None:
        for subscription in list(self._wanted.values()):
            self._ask(subscription)

    def on_disconnected(self, reason: str) -> None:
        self._asked.clear()
        for subscription in list(self._wanted.values()):
            subscription.mark_lost(self.link.last_pong_at, f"{self.address}: {reason}")

    def on_push(self, push: Push) -> None:
        kind, channel = push[0], push[1]
        if kind == b"smessage":
            subscription = self._wanted.get(channel)
            if subscription is not None and subscription.is_subscribed:
                subscription.deliver(push[2])
        elif kind == b"ssubscribe":
            self._confirm(channel, self._asked.pop(self.link.answer_by_push(push), None))
        elif kind == b"sunsubscribe":
            self._on_unsubscribed(channel)

    def _ask(self, subscription: ChannelSubscription) -> None:
        try:
            future = self.link.submit(pack_command("SSUBSCRIBE", subscription.channel), inf)
        except (OverloadedError, UnreachableError) as error:
            self._misplace(subscription, error)
            return
        self._asked[future] = subscription
        future.add_done_callback(self._answered)

    def _confirm(self, channel: bytes, subscription: ChannelSubscription | None) -> None:
        """Mark the subscription in the order of the connection, so that a message right behind the confirmation is delivered."""
        if subscription is not None and self._wanted.get(channel) is subscription:
            subscription.mark_subscribed()

    def _on_unsubscribed(self, channel: bytes) -> None:
        """Handle the answer to our SUNSUBSCRIBE or, if the channel is still wanted, a slot that left this node."""
        subscription = self._wanted.get(channel)
        if subscription is not None and subscription.is_subscribed:
            subscription.mark_lost(self.link.last_pong_at, f"{self.address}: the slot has moved")
            self._misplace(subscription, None)

    def _answered(self, future: asyncio.Future[Reply]) -> None:
        """Handle an error in place of the confirmation. After a lost connection, `on_connected` subscribes again."""
        error, subscription = future.exception(), self._asked.pop(future, None)
        if error is not None and subscription is not None:
            self._misplace(subscription, error)

    def _misplace(self, subscription: ChannelSubscription, error: BaseException | None) -> None:
        if self._wanted.get(subscription.channel.encode()) is subscription:
            del self._wanted[subscription.channel.encode()]
            self._on_misplaced(subscription, error)


_TRIES_WITHOUT_PAUSE = 2


class SubscriptionRegistry:
    """All subscriptions of a client, each on the node that has its slot."""

    def __init__(self, options: RedisOptions, nodes: Topology) -> None:
        self._options = options
        self._nodes = nodes
        self._loop = asyncio.get_running_loop()
        self._all: dict[Key, ChannelSubscription] = {}
        self._listeners: dict[Address, PubSubConnection] = {}
        self._connections: dict[ChannelSubscription, PubSubConnection] = {}
        self._moving: set[ChannelSubscription] = set()
        self._failures: dict[ChannelSubscription, int] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    def add(self, channel: Key, sink: ChannelHandler) -> ChannelSubscription:
        if channel in self._all:
            raise ValueError(f"{channel} already has a subscriber in this process.")
        subscription = ChannelSubscription(channel, sink, self._options.confirm_s, self._closed)
        self._all[channel] = subscription
        self._assign(subscription)
        return subscription

    def check(self, channel: Key) -> None:
        """Raise `UnreachableError` if the channel's node is known to be unreachable."""
        owner = self._nodes.owner(slot(channel))
        if owner is not None:
            self._nodes.at(owner).check()
            if listener := self._listeners.get(owner):
                listener.link.check()

    def relocate(self) -> None:
        """Move every subscription to the node that has its slot in the new map."""
        for subscription in list(self._all.values()):
            listener = self._connections.get(subscription)
            owner = self._nodes.owner(subscription.slot)
            if listener is None:
                self._assign(subscription)
            elif owner is not None and owner != listener.address:
                self._move(subscription, listener, owner)
        self._close_idle()

    def reopen(self) -> None:
        """Reconnect, so that the host name of the single node is resolved again."""
        for listener in self._listeners.values():
            listener.link.reopen("the node refuses writes")

    def listeners(self) -> list[PubSubConnection]:
        return list(self._listeners.values())

    def lost(self) -> list[ChannelSubscription]:
        """Return the subscriptions without a confirmation."""
        return [subscription for subscription in self._all.values() if not subscription.is_subscribed]

    async def close(self) -> None:
        for subscription in list(self._all.values()):
            subscription.close()
        await asyncio.gather(*self._leaving, *(listener.link.close() for listener in self.listeners()))

    def _assign(self, subscription: ChannelSubscription) -> None:
        if subscription.is_closed or subscription in self._connections or subscription in self._moving:
            return
        owner = self._nodes.owner(subscription.slot)
        if owner is None:
            self._nodes.mark_stale()
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
        """Assign a subscription again after its node dropped it or answered with an error."""
        self._connections.pop(subscription, None)
        if error is None:
            self._failures.pop(subscription, None)
            self._nodes.mark_stale()
        else:
            subscription.trouble = str(error)
        if isinstance(error, MovedRedirectError):
            self._nodes.moved(error.slot, error.address)
        self._assign_later(subscription)

    def _move(self, subscription: ChannelSubscription, listener: PubSubConnection, owner: Address) -> None:
        subscription.mark_lost(
            listener.link.last_pong_at, f"{listener.address}: the slot has moved to {owner}"
        )
        del self._connections[subscription]
        # Subscribe at the new node only after the old one has released the channel. Otherwise a publisher could count
        # this process twice, or an old subscription could deliver messages out of order.
        released = listener.remove(subscription)
        if released is None:
            self._assign(subscription)
            return

        def on_released(future: asyncio.Future[Reply]) -> None:
            future.exception()  # An error means that the connection is lost, which releases the channel too.
            self._moving.discard(subscription)
            self._assign(subscription)

        self._moving.add(subscription)
        released.add_done_callback(on_released)

    def _closed(self, subscription: ChannelSubscription) -> None:
        self._all.pop(subscription.channel, None)
        self._failures.pop(subscription, None)
        listener = self._connections.pop(subscription, None)
        released = listener.remove(subscription) if listener else None
        if released is not None:
            released.add_done_callback(asyncio.Future.exception)

    def _close_idle(self) -> None:
        known = {link.address for link in self._nodes.links()}
        for address, listener in list(self._listeners.items()):
            if listener.is_idle and address not in known:
                task = self._loop.create_task(self._listeners.pop(address).link.close())
                self._leaving.add(task)
                task.add_done_callback(self._leaving.discard)
