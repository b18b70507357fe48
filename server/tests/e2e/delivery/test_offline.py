"""Seed 003, "queueing for an offline recipient" and "reconnect and drain", on real processes."""

from e2e.delivery.connected_device import ConnectedClient, Names, watching
from fixtures.installation_processes import InstallationProcesses, RunningInstallation
from fixtures.loops import eventually


async def test_messages_sent_while_a_user_is_offline_arrive_when_they_connect(
    running_installation: RunningInstallation, names: Names
) -> None:
    installation, (one, two) = running_installation.processes, running_installation.ports
    chat = (await installation.direct(names.anna, names.ben)).chat
    async with watching(installation, one, names.anna) as (anna,):
        for number in range(15):
            await anna.client.chat(chat).send(f"{number}")
        await _waiting(installation, names.ben, 15)
        async with watching(installation, two, names.ben) as (ben,):
            await ben.holds(chat, range(1, 17))


async def test_a_new_device_gets_the_end_of_a_long_chat_and_its_row(
    running_installation: RunningInstallation, names: Names
) -> None:
    installation, (one, two) = running_installation.processes, running_installation.ports
    chat = (await installation.direct(names.anna, names.ben)).chat
    async with watching(installation, one, names.anna) as (anna,):
        for number in range(40):
            await anna.client.chat(chat).send(f"{number}")
        await _waiting(installation, names.ben, 40)
        async with watching(installation, two, names.ben) as (ben,):
            await ben.holds(chat, range(22, 42))
            assert (ben.rows[chat].head, ben.rows[chat].unread) == (41, 40)
            older = await ben.client.chat(chat).history(before=22, limit=50)
            assert [entry.sequence for entry in older.entries] == list(range(21, 0, -1))


async def test_a_device_that_reconnects_repeatedly_gets_each_message_once(
    running_installation: RunningInstallation, names: Names
) -> None:
    """A second device that never connected before gets each message once, too."""
    installation, (one, two) = running_installation.processes, running_installation.ports
    chat = (await installation.direct(names.anna, names.ben)).chat
    ben = ConnectedClient(installation, one, names.ben)
    async with watching(installation, two, names.anna) as (anna,):
        for _ in range(4):
            await anna.client.chat(chat).send("while ben is away")
            async with ben:
                await anna.client.chat(chat).send("while ben connects")
                await ben.live()
                sent = await anna.client.chat(chat).send("while ben is connected")
                await ben.holds(chat, range(1, sent.sequence + 1))
        async with watching(installation, two, names.ben, device="laptop") as (laptop,):
            await laptop.holds(chat, range(1, 14))


async def test_an_ack_of_any_device_empties_the_queue(
    running_installation: RunningInstallation, names: Names
) -> None:
    installation, (one, two) = running_installation.processes, running_installation.ports
    chat = (await installation.direct(names.anna, names.ben)).chat
    async with watching(installation, one, names.anna) as (anna,):
        for number in range(5):
            await anna.client.chat(chat).send(f"{number}")
        await _waiting(installation, names.ben, 5)
        async with watching(installation, two, names.ben) as (ben,):
            await ben.holds(chat, range(1, 7))
            await _waiting(installation, names.ben, 0)


async def _waiting(installation: InstallationProcesses, user: str, count: int) -> None:
    async def is_so() -> None:
        assert len(await installation.pending(user)) == count

    await eventually(is_so, AssertionError, 60)
