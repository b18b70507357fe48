"""Promise 5: Kafka and Redis are accelerators. If they are emptied under load, delivery is late by seconds."""

import asyncio

from e2e.delivery.connected_device import ConnectedClient, watching
from fixtures.installation_processes import InstallationProcesses

MESSAGES = 30


async def test_redis_is_emptied_repeatedly(city: InstallationProcesses) -> None:
    one, two, _, _ = city.ready("gateway", "gateway", "delivery", "relay")
    chat = (await city.direct("anna", "ben")).chat
    async with (
        watching(city, one.socket_port, "anna") as (anna,),
        watching(city, two.socket_port, "ben") as (ben,),
    ):
        for number in range(MESSAGES):
            await anna.client.chat(chat).send(f"{number}")
            if number % 10 == 5:
                city.flush_redis()
            await asyncio.sleep(0.05)
        for watcher in (anna, ben):
            await watcher.holds(chat, range(1, MESSAGES + 2))


async def test_the_kafka_log_is_deleted(city: InstallationProcesses) -> None:
    """No worker runs, so the deleted events were not processed. The relay publishes them again."""
    gateway, _ = city.ready("gateway", "relay")
    chat = (await city.direct("anna", "ben")).chat
    async with watching(city, gateway.socket_port, "anna", "ben") as (anna, ben):
        await _say(anna, chat, 0, 10)
        city.delete_kafka_log()
        city.ready("delivery")
        await _say(anna, chat, 10, 20)
        for watcher in (anna, ben):
            await watcher.holds(chat, range(1, 22))


async def test_redis_and_kafka_are_emptied_together(city: InstallationProcesses) -> None:
    gateway, worker, _ = city.ready("gateway", "delivery", "relay")
    chat = (await city.direct("anna", "ben")).chat
    async with watching(city, gateway.socket_port, "anna", "ben") as (anna, ben):
        await _say(anna, chat, 0, 10)
        # Otherwise the worker may be killed before it has processed anything. A worker without a checkpoint starts 20
        # entries before the head, and a device that does not know the chat starts there too.
        await anna.holds(chat, range(1, 12))
        worker.popen.kill()
        await _say(anna, chat, 10, 20)
        city.delete_kafka_log()
        city.flush_redis()
        city.ready("delivery")
        for watcher in (anna, ben):
            await watcher.holds(chat, range(1, 22))


async def _say(anna: ConnectedClient, chat: str, first: int, last: int) -> None:
    for number in range(first, last):
        await anna.client.chat(chat).send(f"{number}")
