"""A subscription whose slot moves is released by the old node before the new one subscribes."""

import asyncio
from dataclasses import dataclass
from typing import Any, cast

import pytest
from fixtures.event_recorder import Recorder

from tidings.platform.redis import pubsub as subject
from tidings.platform.redis.errors import Address, OutcomeUnknownError
from tidings.platform.redis.keys import Key
from tidings.platform.redis.options import RedisOptions
from tidings.platform.redis.pipeline import Reply
from tidings.platform.redis.pubsub import ChannelSubscription, SubscriptionRegistry

A, B = Address("a", 1), Address("b", 2)


@dataclass
class Link:
    last_pong_at: float = 5.0


class Listener:
    """Subscribe at once, and release when the test says so."""

    def __init__(self, address: Address, *_: object) -> None:
        self.address = address
        self.link = Link()
        self.here: list[ChannelSubscription] = []
        self.released: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

    @property
    def is_idle(self) -> bool:
        return not self.here

    def add(self, subscription: ChannelSubscription) -> None:
        self.here.append(subscription)
        subscription.mark_subscribed()

    def remove(self, subscription: ChannelSubscription) -> asyncio.Future[Reply]:
        self.here.remove(subscription)
        return self.released


@dataclass
class Map:
    """Every slot is at one node."""

    at: Address = A

    def owner(self, slot: int) -> Address:
        del slot
        return self.at

    def links(self) -> list[Listener]:
        return [Listener(A), Listener(B)]


@pytest.mark.parametrize("is_lost", [False, True], ids=["let go", "connection lost"])
async def test_the_new_node_is_subscribed_after_the_old_one_has_released_the_slot(
    monkeypatch: pytest.MonkeyPatch, *, is_lost: bool
) -> None:
    monkeypatch.setattr(subject, "PubSubConnection", Listener)
    nodes, recorder = Map(), Recorder()
    everybody = SubscriptionRegistry(RedisOptions(seeds=(A,)), cast("Any", nodes))
    everybody.add(Key("{x}c"), recorder)
    nodes.at = B
    everybody.relocate()
    everybody.relocate()
    assert recorder.shape == "SL"  # reported at once
    old = cast("Any", everybody._listeners[A])
    if is_lost:
        old.released.set_exception(OutcomeUnknownError("gone"))
    else:
        old.released.set_result(b"PONG")
    await asyncio.sleep(0)
    assert recorder.shape == "SLS"
    assert not everybody._listeners[B].is_idle


async def test_a_subscription_closed_during_a_slot_move_stays_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "PubSubConnection", Listener)
    nodes, recorder = Map(), Recorder()
    everybody = SubscriptionRegistry(RedisOptions(seeds=(A,)), cast("Any", nodes))
    subscription = everybody.add(Key("{x}c"), recorder)
    nodes.at = B
    everybody.relocate()
    subscription.close()
    old = cast("Any", everybody._listeners[A])
    old.released.set_result(b"PONG")
    await asyncio.sleep(0)
    assert recorder.shape == "SL"
    assert B not in everybody._listeners
