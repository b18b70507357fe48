"""If any process is killed with -9 under load, every device still ends with exactly its entries, in order."""

import asyncio

from e2e.delivery.connected_device import ConnectedClient, watching
from fixtures.installation_processes import Balancer, InstallationProcesses

MESSAGES = 30


async def _talk(anna: ConnectedClient, ben: ConnectedClient, chat: str, halfway: asyncio.Event) -> None:
    for number in range(MESSAGES):
        await asyncio.gather(
            anna.client.chat(chat).send(f"a-{number}"), ben.client.chat(chat).send(f"b-{number}")
        )
        if number == MESSAGES // 3:
            halfway.set()
        await asyncio.sleep(0.05)


async def test_a_gateway_is_killed(installation: InstallationProcesses) -> None:
    one, two, _, _ = installation.ready("gateway", "gateway", "delivery", "relay")
    chat = (await installation.direct("anna", "ben")).chat
    async with Balancer() as balancer:
        balancer.ports = [one.socket_port, two.socket_port]
        async with watching(installation, balancer.port, "anna", "ben") as (anna, ben):
            halfway = asyncio.Event()
            talking = asyncio.create_task(_talk(anna, ben, chat, halfway))
            await halfway.wait()
            balancer.ports = [two.socket_port]
            one.popen.kill()
            await talking
            for watcher in (anna, ben):
                await watcher.holds(chat, range(1, 2 * MESSAGES + 2))


async def test_a_worker_is_killed(installation: InstallationProcesses) -> None:
    gateway, first, _ = installation.ready("gateway", "delivery", "relay")
    chat = (await installation.direct("anna", "ben")).chat
    async with watching(installation, gateway.socket_port, "anna", "ben") as (anna, ben):
        halfway = asyncio.Event()
        talking = asyncio.create_task(_talk(anna, ben, chat, halfway))
        await halfway.wait()
        first.popen.kill()
        installation.ready("delivery")
        await talking
        for watcher in (anna, ben):
            await watcher.holds(chat, range(1, 2 * MESSAGES + 2))


async def test_a_relay_and_the_publishing_gateway_are_killed(installation: InstallationProcesses) -> None:
    """The second relay continues where the first stopped, and publishes the unpublished commits."""
    one, two, _, first = installation.ready("gateway", "gateway", "delivery", "relay")
    chat = (await installation.direct("anna", "ben")).chat
    async with Balancer() as balancer:
        balancer.ports = [one.socket_port, two.socket_port]
        async with watching(installation, balancer.port, "anna", "ben") as (anna, ben):
            halfway = asyncio.Event()
            talking = asyncio.create_task(_talk(anna, ben, chat, halfway))
            await halfway.wait()
            first.popen.kill()
            balancer.ports = [two.socket_port]
            one.popen.kill()
            installation.ready("relay")
            await talking
            for watcher in (anna, ben):
                await watcher.holds(chat, range(1, 2 * MESSAGES + 2))
