"""Seed 003, "connect and register" and "delivering to an online recipient", on real processes: two gateways, a worker."""

import asyncio

from e2e.delivery.watching import Watcher, watching
from fixtures.city import City


async def test_a_message_reaches_every_device_of_both_on_whatever_gateway(city: City) -> None:
    one, two = city.ready("gateway", "gateway")
    city.ready("delivery")
    chat = (await city.direct("anna", "ben")).chat
    async with (
        watching(city, one.socket_port, "anna", "ben") as (anna, ben),
        watching(city, two.socket_port, "anna", "ben", device="laptop") as (anna_too, ben_too),
    ):
        for number in range(10):
            await anna.client.chat(chat).send(f"a-{number}")
            await ben_too.client.chat(chat).send(f"b-{number}")
        for watcher in (anna, ben, anna_too, ben_too):
            await watcher.holds(chat, range(1, 22))
            assert watcher.texts(chat) == [f"{who}-{n}" for n in range(10) for who in "ab"]


async def test_processes_may_come_in_any_order_and_any_number(city: City) -> None:
    """First the device's gateway, long before anybody delivers; then two workers, one of which leaves."""
    (gateway,) = city.ready("gateway")
    chat = (await city.direct("anna", "ben")).chat
    async with watching(city, gateway.socket_port, "anna", "ben") as (anna, ben):
        await asyncio.gather(*(anna.client.chat(chat).send(f"{n}") for n in range(5)))
        first = city.ready("delivery")
        await ben.holds(chat, range(1, 7))
        city.ready("delivery")
        await asyncio.gather(*(anna.client.chat(chat).send(f"{n}") for n in range(5)))
        first.popen.terminate()
        assert first.exit_code() == 0
        await asyncio.gather(*(anna.client.chat(chat).send(f"{n}") for n in range(5)))
        for watcher in (anna, ben):
            await watcher.holds(chat, range(1, 17))


async def test_a_group_gets_what_each_of_its_members_says_in_one_order(city: City) -> None:
    one, two = city.ready("gateway"), city.ready("gateway", GATEWAY_SOCKET_LIBRARY="websockets")
    city.ready("delivery")
    people = ["anna", "ben", "cleo", "dora", "emil"]
    chat = await city.group(*people)
    async with (
        watching(city, one.socket_port, *people[:3]) as here,
        watching(city, two.socket_port, *people[3:]) as there,
    ):
        everybody = [*here, *there]
        await asyncio.gather(*(_say(watcher, chat, 6) for watcher in everybody))
        heads = {watcher.client.position(chat) for watcher in everybody}
        for watcher in everybody:
            await watcher.holds(chat, range(1, 32))
        assert heads <= set(range(32))
        assert len({tuple(watcher.texts(chat)) for watcher in everybody}) == 1


async def _say(watcher: Watcher, chat: str, count: int) -> None:
    for number in range(count):
        await watcher.client.chat(chat).send(f"{watcher.user}-{number}")
