"""Promise 5: Kafka and Redis are accelerators. If they are emptied under load, delivery is late by seconds."""

import asyncio

from e2e.delivery.connected_device import LONG_S, ConnectedClient, watching
from fixtures.installation_processes import InstallationProcesses
from fixtures.loops import until

MESSAGES = 30


async def test_redis_is_emptied_repeatedly(installation: InstallationProcesses) -> None:
    one, two, _, _ = installation.ready("gateway", "gateway", "delivery", "relay")
    chat = (await installation.direct("anna", "ben")).chat
    async with (
        watching(installation, one.socket_port, "anna") as (anna,),
        watching(installation, two.socket_port, "ben") as (ben,),
    ):
        await _know_the_chat(chat, anna, ben)
        for number in range(MESSAGES):
            await anna.client.chat(chat).send(f"{number}")
            if number % 10 == 5:
                installation.flush_redis()
            await asyncio.sleep(0.05)
        for watcher in (anna, ben):
            await watcher.holds(chat, range(1, MESSAGES + 2))


async def test_the_kafka_log_is_deleted(installation: InstallationProcesses) -> None:
    """No worker runs, so the deleted events were not processed. The relay publishes them again."""
    gateway, _ = installation.ready("gateway", "relay")
    chat = (await installation.direct("anna", "ben")).chat
    async with watching(installation, gateway.socket_port, "anna", "ben") as (anna, ben):
        await _say(anna, chat, 0, 10)
        installation.delete_kafka_log()
        installation.ready("delivery")
        await _say(anna, chat, 10, 20)
        for watcher in (anna, ben):
            await watcher.holds(chat, range(1, 22))


async def test_redis_and_kafka_are_emptied_together(installation: InstallationProcesses) -> None:
    gateway, worker, _ = installation.ready("gateway", "delivery", "relay")
    chat = (await installation.direct("anna", "ben")).chat
    async with watching(installation, gateway.socket_port, "anna", "ben") as (anna, ben):
        await _say(anna, chat, 0, 10)
        await _know_the_chat(chat, anna, ben)
        worker.popen.kill()
        await _say(anna, chat, 10, 20)
        installation.delete_kafka_log()
        installation.flush_redis()
        installation.ready("delivery")
        for watcher in (anna, ben):
            await watcher.holds(chat, range(1, 22))


async def _say(anna: ConnectedClient, chat: str, first: int, last: int) -> None:
    for number in range(first, last):
        await anna.client.chat(chat).send(f"{number}")


async def _know_the_chat(chat: str, *watchers: ConnectedClient) -> None:
    """Wait until the devices have the first entry. A device that does not know a chat gets its last 20 entries only."""
    await until(lambda: all(1 in watcher.sequences(chat) for watcher in watchers), LONG_S)
