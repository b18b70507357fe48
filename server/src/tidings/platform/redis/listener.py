"""The subscriptions at one node, on a connection of their own: a flood of commands does not delay a message,
and a reader that is too slow for the server's patience loses this connection, not the commands'.
"""

import asyncio
from collections.abc import Callable
from math import inf

from tidings.platform.redis.errors import Address, OverloadedError, UnreachableError
from tidings.platform.redis.link import RedisConnection
from tidings.platform.redis.options import RedisOptions
from tidings.platform.redis.resp import Push, Reply, pack_command
from tidings.platform.redis.subscription import ChannelSubscription

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
