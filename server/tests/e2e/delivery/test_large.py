"""Chats of more than 100 members: one push for each gateway, and the passage from small to large in mid-traffic."""

import asyncio

from e2e.delivery.watching import Watcher, watching
from fixtures.city import City


def people(count: int) -> list[str]:
    return [f"user-{number}" for number in range(count)]


async def test_a_chat_grows_past_100_while_people_talk(city: City) -> None:
    one, two = city.ready("gateway", "gateway")
    city.ready("delivery")
    city.ready("relay")
    chat = await city.group("anna", "ben", *people(90))
    async with (
        watching(city, one.socket_port, "anna", "user-1") as (anna, early),
        watching(city, two.socket_port, "ben", "late-1") as (ben, late),
    ):
        talking = asyncio.create_task(_talk(anna, chat, 40))
        await asyncio.sleep(0.3)
        joined = await city.add(chat, "anna", *(f"late-{number}" for number in range(20)))
        await talking
        head = (await ben.client.chat(chat).send("the end")).sequence
        for watcher in (anna, ben, early):
            await watcher.holds(chat, range(1, head + 1))
        await late.holds(chat, range(joined, head + 1))


async def test_who_was_away_from_a_large_chat_gets_what_he_missed(city: City) -> None:
    one, two = city.ready("gateway", "gateway")
    city.ready("delivery")
    city.ready("relay")
    chat = await city.group("anna", "ben", *people(120))
    ben = Watcher(city, two.socket_port, "ben")
    async with watching(city, one.socket_port, "anna") as (anna,):
        await anna.client.chat(chat).send("hello")
        async with ben:
            await ben.live()
            last = (await anna.client.chat(chat).send("all of you")).sequence
            await ben.holds(chat, range(1, last + 1))
        for number in range(30):
            await anna.client.chat(chat).send(f"{number}")
        async with ben:
            await ben.live()
            last = (await anna.client.chat(chat).send("again")).sequence
            await ben.holds(chat, range(1, last + 1))


async def test_removed_from_a_large_chat_and_back(city: City) -> None:
    (gateway,) = city.ready("gateway")
    city.ready("delivery")
    city.ready("relay")
    chat = await city.group("anna", "ben", *people(120))
    async with watching(city, gateway.socket_port, "anna", "ben") as (anna, ben):
        before = (await anna.client.chat(chat).send("with him")).sequence
        await ben.holds(chat, range(1, before + 1))
        left = await city.remove(chat, "anna", "ben")
        await anna.client.chat(chat).send("without him")
        back = await city.add(chat, "anna", "ben")
        head = (await anna.client.chat(chat).send("with him again")).sequence
        await anna.holds(chat, range(1, head + 1))
        await ben.holds(chat, [*range(1, left + 1), *range(back, head + 1)])


async def _talk(anna: Watcher, chat: str, count: int) -> None:
    for number in range(count):
        await anna.client.chat(chat).send(f"{number}")
        await asyncio.sleep(0.02)
