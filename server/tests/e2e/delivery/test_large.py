"""Chats of more than 100 members: one push for each gateway, and the change from small to large under load."""

import asyncio

from e2e.delivery.connected_device import ConnectedClient, Names, watching
from fixtures.installation_processes import RunningInstallation


async def test_a_chat_becomes_large_under_load(
    running_installation: RunningInstallation, names: Names
) -> None:
    installation, (one, two) = running_installation.processes, running_installation.ports
    chat = await installation.group(names.anna, names.ben, *names.many(90))
    async with (
        watching(installation, one, names.anna, names.many(90)[1]) as (anna, early),
        watching(installation, two, names.ben, names.late) as (ben, late),
    ):
        talking = asyncio.create_task(_talk(anna, chat, 40))
        await asyncio.sleep(0.3)
        joined = await installation.add(chat, names.anna, names.late, *names.many(110)[90:])
        await talking
        head = (await ben.client.chat(chat).send("the end")).sequence
        for watcher in (anna, ben, early):
            await watcher.holds(chat, range(1, head + 1))
        await late.holds(chat, range(joined, head + 1))


async def test_an_offline_member_of_a_large_chat_gets_the_missed_entries(
    running_installation: RunningInstallation, names: Names
) -> None:
    installation, (one, two) = running_installation.processes, running_installation.ports
    chat = await installation.group(names.anna, names.ben, *names.many(120))
    ben = ConnectedClient(installation, two, names.ben)
    async with watching(installation, one, names.anna) as (anna,):
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


async def test_a_member_is_removed_from_a_large_chat_and_rejoins(
    running_installation: RunningInstallation, names: Names
) -> None:
    installation, (one, two) = running_installation.processes, running_installation.ports
    chat = await installation.group(names.anna, names.ben, *names.many(120))
    async with (
        watching(installation, one, names.anna) as (anna,),
        watching(installation, two, names.ben) as (ben,),
    ):
        before = (await anna.client.chat(chat).send("with ben")).sequence
        await ben.holds(chat, range(1, before + 1))
        left = await installation.remove(chat, names.anna, names.ben)
        await anna.client.chat(chat).send("without ben")
        back = await installation.add(chat, names.anna, names.ben)
        head = (await anna.client.chat(chat).send("with ben again")).sequence
        await anna.holds(chat, range(1, head + 1))
        await ben.holds(chat, [*range(1, left + 1), *range(back, head + 1)])


async def _talk(anna: ConnectedClient, chat: str, count: int) -> None:
    for number in range(count):
        await anna.client.chat(chat).send(f"{number}")
        await asyncio.sleep(0.02)
