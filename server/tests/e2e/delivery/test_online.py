"""Seed 003, "connect and register" and "delivering to an online recipient", on real processes: two gateways, a worker."""

import asyncio

from e2e.delivery.connected_device import ConnectedClient, Names, watching
from fixtures.installation_processes import InstallationProcesses, RunningInstallation


async def test_a_direct_message_reaches_all_devices_of_both_users_on_all_gateways(
    running_installation: RunningInstallation, names: Names
) -> None:
    installation, (one, two) = running_installation.processes, running_installation.ports
    chat = (await installation.direct(names.anna, names.ben)).chat
    async with (
        watching(installation, one, names.anna, names.ben) as (anna, ben),
        watching(installation, two, names.anna, names.ben, device="laptop") as (anna_too, ben_too),
    ):
        for number in range(10):
            await anna.client.chat(chat).send(f"a-{number}")
            await ben_too.client.chat(chat).send(f"b-{number}")
        for watcher in (anna, ben, anna_too, ben_too):
            await watcher.holds(chat, range(1, 22))
            assert watcher.texts(chat) == [f"{names}-{n}" for n in range(10) for names in "ab"]


async def test_all_members_of_a_group_get_all_messages_in_one_order(
    running_installation: RunningInstallation, names: Names
) -> None:
    installation, (one, two) = running_installation.processes, running_installation.ports
    people = [names.anna, names.ben, names.cleo, names.dora, names.emil]
    chat = await installation.group(*people)
    async with (
        watching(installation, one, *people[:3]) as here,
        watching(installation, two, *people[3:]) as on_second,
    ):
        everybody = [*here, *on_second]
        await asyncio.gather(*(_say(watcher, chat, 6) for watcher in everybody))
        for watcher in everybody:
            await watcher.holds(chat, range(1, 32))
        assert len({tuple(watcher.texts(chat)) for watcher in everybody}) == 1


async def test_an_edit_and_a_redaction_are_pushed(
    running_installation: RunningInstallation, names: Names
) -> None:
    installation, (one, two) = running_installation.processes, running_installation.ports
    chat = (await installation.direct(names.anna, names.ben)).chat
    async with (
        watching(installation, one, names.anna) as (anna,),
        watching(installation, two, names.ben) as (ben,),
    ):
        sent = await anna.client.chat(chat).send("helo")
        await anna.client.chat(chat).edit(sent.sequence, "hello")
        await anna.client.chat(chat).redact(sent.sequence)
        await ben.holds(chat, range(1, 5))
        assert [entry.kind for entry in ben.entries[chat]] == ["create", "message", "edit", "redaction"]


async def test_processes_may_start_in_any_order_and_number(installation: InstallationProcesses) -> None:
    """First the device's gateway, long before any worker; then two workers, one of which stops."""
    (gateway,) = installation.ready("gateway")
    chat = (await installation.direct("anna", "ben")).chat
    async with watching(installation, gateway.socket_port, "anna", "ben") as (anna, ben):
        await asyncio.gather(*(anna.client.chat(chat).send(f"{n}") for n in range(5)))
        (first,) = installation.ready("delivery")
        await ben.holds(chat, range(1, 7))
        installation.ready("delivery")
        await asyncio.gather(*(anna.client.chat(chat).send(f"{n}") for n in range(5)))
        first.popen.terminate()
        assert first.exit_code() == 0
        await asyncio.gather(*(anna.client.chat(chat).send(f"{n}") for n in range(5)))
        for watcher in (anna, ben):
            await watcher.holds(chat, range(1, 17))


async def _say(watcher: ConnectedClient, chat: str, count: int) -> None:
    for number in range(count):
        await watcher.client.chat(chat).send(f"{watcher.user}-{number}")
