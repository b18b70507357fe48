"""The two races of seed 003: the worker and the gateway are paused at every step of both columns.

A message is sent while a device connects. The device must end with exactly its entries, whichever process is paused.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from e2e.delivery.connected_device import ConnectedClient, Names, watching
from fixtures.installation_processes import InstallationProcess, InstallationProcesses, RunningInstallation

WORKER = (
    "worker.gap_filled",
    "worker.rows_written",
    "worker.looked_up",
    "worker.pushed",
    "worker.marked",
)
WORKER_FOR_WHO_IS_AWAY = ("worker.pending_put", "worker.looked_up_again", "worker.rung")
GATEWAY = (
    "gateway.installed",
    "gateway.registered",
    "gateway.subscribed",
    "gateway.read",
    "gateway.sent",
    "gateway.replayed",
)
FIRST, SECOND = "first device", "second device"


@asynccontextmanager
async def held_at(process: InstallationProcess, step: str) -> AsyncIterator[None]:
    """Pause a process at this failpoint until `go` is called, or until the end of the block."""
    process.hold(step)
    try:
        yield
    finally:
        process.go(step)


@pytest.mark.parametrize(
    ("step", "device"),
    [
        *((step, device) for step in WORKER for device in (FIRST, SECOND)),
        *((step, FIRST) for step in WORKER_FOR_WHO_IS_AWAY),
    ],
)
async def test_a_device_connects_while_the_worker_is_paused(
    running_installation: RunningInstallation, names: Names, step: str, device: str
) -> None:
    installation, (one, two), worker = (
        running_installation.processes,
        running_installation.ports,
        running_installation.worker,
    )
    chat = (await installation.direct(names.anna, names.ben)).chat
    connected = [names.anna, names.ben] if device == SECOND else [names.anna]
    async with watching(installation, one, *connected, device="laptop") as before, held_at(worker, step):
        sent = await before[0].client.chat(chat).send("hello")
        await worker.reached(step)
        async with watching(installation, two, names.ben) as (ben,):
            worker.go(step)
            for watcher in (ben, *before):
                await watcher.holds(chat, range(1, sent.sequence + 1))
            last = await ben.client.chat(chat).send("and on it goes")
            for watcher in (ben, *before):
                await watcher.holds(chat, range(1, last.sequence + 1))


@pytest.mark.parametrize("step", GATEWAY)
@pytest.mark.parametrize("device", [FIRST, SECOND])
async def test_a_message_is_processed_while_the_gateway_is_paused(
    running_installation: RunningInstallation, names: Names, step: str, device: str
) -> None:
    installation, (one, two), held = (
        running_installation.processes,
        running_installation.ports,
        running_installation.gateways[1],
    )
    chat = (await installation.direct(names.anna, names.ben)).chat
    connected = [names.anna, names.ben] if device == SECOND else [names.anna]
    async with watching(installation, one, *connected, device="laptop") as before:
        first = await before[0].client.chat(chat).send("before")
        await before[0].holds(chat, range(1, first.sequence + 1))
        async with held_at(held, step), ConnectedClient(installation, two, names.ben) as ben:
            await held.reached(step)
            second = await before[0].client.chat(chat).send("meanwhile")
            await before[0].holds(chat, range(1, second.sequence + 1))
            held.go(step)
            for watcher in (ben, *before):
                await watcher.holds(chat, range(1, second.sequence + 1))


async def test_the_worker_dies_at_each_of_its_steps(installation: InstallationProcesses) -> None:
    """The worker is killed with -9 at a step. The next one processes the same event again, without duplicates."""
    (gateway,) = installation.ready("gateway")
    chat = (await installation.direct("anna", "ben")).chat
    async with watching(installation, gateway.socket_port, "anna", "ben") as (anna, ben):
        last = 1
        for step in ("worker.rows_written", "worker.looked_up", "worker.pushed", "worker.marked"):
            worker = installation.run("delivery")
            worker.hold(step)
            last = (await anna.client.chat(chat).send(step)).sequence
            await worker.reached(step)
            worker.popen.kill()
            await asyncio.to_thread(worker.exit_code)
        installation.ready("delivery")
        for watcher in (anna, ben):
            await watcher.holds(chat, range(1, last + 1))
