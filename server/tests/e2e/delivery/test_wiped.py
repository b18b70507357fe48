"""Promise 5: Kafka and Redis are accelerators. If they are emptied under load, delivery is late by seconds."""

import asyncio

from e2e.delivery.connected_device import ConnectedClient, watching
from fixtures.installation_processes import InstallationProcesses

MESSAGES = 30


async def test_redis_is_emptied_repeatedly(installation: InstallationProcesses) -> None:
    one, two, _, _ = installation.ready("gateway", "gateway", "delivery", "relay")
    chat = (await installation.direct("anna", "ben")).chat
    async with (
        watching(installation, one.socket_port, "anna") as (anna,),
        watching(installation, two.socket_port, "ben") as (ben,),
    ):
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
        # Otherwise the worker may be killed before it has processed anything. A worker without a checkpoint starts 20
        # entries before the head, and a device that does not know the chat starts there too.
        await anna.holds(chat, range(1, 12))
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
