"""Sharded pub/sub without faults: confirmed, in order, counted, at the right shard."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from fixtures.event_recorder import Recorder
from fixtures.loops import until
from fixtures.redis_cluster import Servers, ask

from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.errors import UnreachableError
from tidings.platform.redis.keys import Key
from tidings.platform.redis.pubsub import ChannelEvent

Client = Callable[..., Any]


def channel(redis: RedisClient, gateway: str = "gateway-7") -> Key:
    return redis.keys.key("_system", gateway, "push")


def listeners_at(servers: Servers, name: Key) -> int:
    """By the word of the node that has the slot."""
    answer = ask(servers.owner(name).port, "PUBSUB", "SHARDNUMSUB", name)
    assert isinstance(answer, list)
    return int(answer[1])


async def test_an_awaited_subscription_is_one_that_the_server_knows(servers: Servers, client: Client) -> None:
    async with client(servers.options) as redis:
        for gateway in ("a", "b", "c", "d"):
            recorder = Recorder()
            await redis.subscribe(channel(redis, gateway), recorder)
            assert listeners_at(servers, channel(redis, gateway)) == 1
            assert recorder.shape == "S"
            assert recorder.standings[0].lost_since is None


async def test_nothing_is_confirmed_before_the_server_has_confirmed(
    own_servers: Servers, client: Client
) -> None:
    async with client(own_servers.options, confirm_s=0.3, detect_s=20.0) as redis:
        await redis.subscribe(channel(redis, "first"), Recorder())  # connected
        own_servers.owner(channel(redis, "first")).freeze()
        recorder = Recorder()
        late = Key(channel(redis, "first") + ":late")
        with pytest.raises(UnreachableError, match=r"not confirmed in 0\.3 s"):
            await redis.subscribe(late, recorder)
        assert recorder.events == []
        own_servers.mend()
        await until(lambda: listeners_at(own_servers, channel(redis, "first")) == 1)
        await until(
            lambda: listeners_at(own_servers, late) == 0
        )  # A subscription that was given up is not added later.


async def test_messages_arrive_in_order_and_are_counted(servers: Servers, client: Client) -> None:
    async with client(servers.options) as gateway, client(servers.options) as worker:
        name, recorder = channel(gateway), Recorder()
        assert await worker.publish(name, b"nobody") == 0
        await gateway.subscribe(name, recorder)
        counts = await asyncio.gather(*(worker.publish(name, b"%d" % n) for n in range(500)))
        assert counts == [1] * 500
        await until(lambda: len(recorder.payloads) == 500)
        assert recorder.payloads == [b"%d" % n for n in range(500)]
        assert recorder.shape == "Sm"


async def test_two_processes_on_one_channel_are_two_receivers(servers: Servers, client: Client) -> None:
    async with client(servers.options) as one, client(servers.options) as other:
        first, second = Recorder(), Recorder()
        await one.subscribe(channel(one), first)
        await other.subscribe(channel(one), second)
        assert await one.publish(channel(one), b"both") == 2
        await until(lambda: first.payloads == second.payloads == [b"both"])


async def test_after_close_there_is_no_subscription_and_no_event(servers: Servers, client: Client) -> None:
    async with client(servers.options) as redis:
        name, recorder = channel(redis), Recorder()
        subscription = await redis.subscribe(name, recorder)
        subscription.close()
        subscription.close()
        await until(lambda: listeners_at(servers, name) == 0)
        assert await redis.publish(name, b"late") == 0
        assert recorder.shape == "S"


async def test_close_and_subscribe_again_immediately(servers: Servers, client: Client) -> None:
    """The server's answers to the old one must not be taken for the new one's."""
    async with client(servers.options) as redis:
        name = channel(redis)
        old, new = Recorder(), Recorder()
        await redis.subscribe(redis.keys.key("_system", "gateway-7", "other"), Recorder())  # connected
        first = redis.subscribe_soon(name, old)
        first.close()
        for _ in range(20):
            redis.subscribe_soon(name, Recorder()).close()
        await redis.subscribe(name, new)
        assert await redis.publish(name, b"x") == 1
        await until(lambda: new.payloads == [b"x"])
        assert (old.events, new.shape) == ([], "Sm")


async def test_one_channel_has_one_subscriber_in_a_process(servers: Servers, client: Client) -> None:
    async with client(servers.options) as redis:
        await redis.subscribe(channel(redis), Recorder())
        with pytest.raises(ValueError, match="has a subscriber"):
            await redis.subscribe(channel(redis), Recorder())


async def test_a_thousand_channels_over_all_nodes(servers: Servers, client: Client) -> None:
    async with client(servers.options) as redis:
        names = [redis.keys.key("acme", f"chat-{n}", "live") for n in range(1000)]
        recorder = {name: Recorder() for name in names}
        await asyncio.gather(*(redis.subscribe(name, recorder[name]) for name in names))
        counts = await asyncio.gather(*(redis.publish(name, name.encode()) for name in names))
        assert counts == [1] * 1000
        await until(lambda: all(recorder[name].payloads == [name.encode()] for name in names))


async def test_a_failing_subscriber_does_not_affect_others(servers: Servers, client: Client) -> None:
    reported: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["message"]))

    def clumsy(event: ChannelEvent) -> None:
        raise RuntimeError(str(event))

    async with client(servers.options) as redis:
        clumsy_one, careful_one = (redis.keys.key("acme", "chat", kind) for kind in ("a", "b"))
        recorder = Recorder()
        await redis.subscribe(clumsy_one, clumsy)
        await redis.subscribe(careful_one, recorder)
        for name in (clumsy_one, careful_one):
            assert await redis.publish(name, b"x") == 1
        await until(lambda: recorder.payloads == [b"x"])
        assert reported == [f"subscriber of {clumsy_one} failed"] * 2


async def test_an_empty_message_and_one_of_a_megabyte(servers: Servers, client: Client) -> None:
    async with client(servers.options) as redis:
        recorder = Recorder()
        await redis.subscribe(channel(redis), recorder)
        large = bytes(range(256)) * 4096
        for payload in (b"", large):
            assert await redis.publish(channel(redis), payload) == 1
        await until(lambda: len(recorder.payloads) == 2)
        assert recorder.payloads == [b"", large]


async def test_a_subscription_is_healthy_until_its_answer_is_overdue(
    own_servers: Servers, client: Client
) -> None:
    async with client(own_servers.options, confirm_s=0.5, detect_s=20.0) as redis:
        await redis.subscribe(channel(redis), Recorder())  # connected
        own_servers.owner(channel(redis)).freeze()
        redis.subscribe_soon(redis.keys.key("_system", "gateway-7", "signs"), Recorder())
        assert redis.health().is_well
        await until(lambda: "is not subscribed: not confirmed yet" in redis.health().text)
