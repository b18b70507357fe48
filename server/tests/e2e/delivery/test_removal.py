"""Promise 4 under load: a member who is removed and rejoins gets exactly the entries of their intervals."""

import asyncio

from e2e.delivery.connected_device import ConnectedClient, Names, watching
from fixtures.installation_processes import RunningInstallation


async def test_a_member_is_removed_and_rejoins_under_load(
    running_installation: RunningInstallation, names: Names
) -> None:
    installation, (one, two) = running_installation.processes, running_installation.ports
    chat = await installation.group(names.anna, names.ben, names.cleo)
    async with (
        watching(installation, one, names.anna, names.ben) as (anna, ben),
        watching(installation, two, names.cleo) as (cleo,),
        watching(installation, two, names.cleo, device="laptop") as (laptop,),
    ):
        # A device that learns of a chat later starts with the chat's last entries.
        await anna.client.chat(chat).send("the first")
        for watcher in (anna, ben, cleo, laptop):
            await watcher.holds(chat, [1, 2])
        talking = asyncio.create_task(_talk(anna, chat, 40))
        intervals = []
        for _ in range(3):
            await asyncio.sleep(0.2)
            left = await installation.remove(chat, names.anna, names.cleo)
            await asyncio.sleep(0.2)
            intervals.append((left, await installation.add(chat, names.anna, names.cleo)))
        await talking
        head = (await anna.client.chat(chat).send("the end")).sequence
        missing = {n for left, back in intervals for n in range(left + 1, back)}
        for watcher in (anna, ben):
            await watcher.holds(chat, range(1, head + 1))
        for watcher in (cleo, laptop):
            await watcher.holds(chat, [n for n in range(1, head + 1) if n not in missing])


async def test_a_member_removed_while_offline_gets_the_removal_and_nothing_later(
    running_installation: RunningInstallation, names: Names
) -> None:
    installation, (one, two) = running_installation.processes, running_installation.ports
    chat = await installation.group(names.anna, names.ben, names.cleo)
    cleo = ConnectedClient(installation, two, names.cleo)
    async with watching(installation, one, names.anna, names.ben) as (anna, ben):
        async with cleo:
            await cleo.live()
            first = (await anna.client.chat(chat).send("with her")).sequence
            await cleo.holds(chat, range(1, first + 1))
        await anna.client.chat(chat).send("still hers")
        left = await installation.remove(chat, names.anna, names.cleo)
        last = (await anna.client.chat(chat).send("not hers")).sequence
        await ben.holds(chat, range(1, last + 1))
        async with cleo:
            await cleo.holds(chat, range(1, left + 1))


async def _talk(anna: ConnectedClient, chat: str, count: int) -> None:
    for number in range(count):
        await anna.client.chat(chat).send(f"{number}")
        await asyncio.sleep(0.03)
