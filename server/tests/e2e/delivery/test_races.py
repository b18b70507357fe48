"""Seed 003's two races, provoked: the worker and the gateway held at every step of both columns.

A message is sent while a device comes in. Whoever is held, and wherever, the device ends with exactly its entries.
"""

import asyncio

import pytest
from e2e.delivery.watching import Watcher, watching
from fixtures.city import City

WORKER = (
    "worker.gap_filled",
    "worker.rows_written",
    "worker.looked_up",
    "worker.pushed",
    "worker.pending_put",
    "worker.looked_up_again",
    "worker.marked",
)
GATEWAY = (
    "gateway.installed",
    "gateway.registered",
    "gateway.subscribed",
    "gateway.read",
    "gateway.sent",
    "gateway.replayed",
)


@pytest.mark.parametrize("step", WORKER)
@pytest.mark.parametrize("is_second", [False, True], ids=["first-device", "second-device"])
async def test_a_device_comes_in_while_the_worker_stands_at(city: City, step: str, is_second: bool) -> None:  # noqa: FBT001 - a case
    (gateway,) = city.ready("gateway")
    worker = city.held("delivery", step)
    chat = (await city.direct("anna", "ben")).chat
    async with watching(city, gateway.socket_port, "anna") as (anna,):
        others = [Watcher(city, gateway.socket_port, "ben", "laptop")] if is_second else []
        for other in others:
            await other.__aenter__()
            await other.live()
        sent = await anna.client.chat(chat).send("hello")
        if is_second and step in {"worker.pending_put", "worker.looked_up_again"}:
            pytest.skip("nobody is without a route, so the worker does not come there")
        await city.reached(step)
        async with watching(city, gateway.socket_port, "ben") as (ben,):
            city.go(step)
            for watcher in (anna, ben, *others):
                await watcher.holds(chat, range(1, sent.sequence + 1))
        for other in others:
            await other.__aexit__(None, None, None)
    assert worker.faults() == []


@pytest.mark.parametrize("step", GATEWAY)
@pytest.mark.parametrize("is_second", [False, True], ids=["first-device", "second-device"])
async def test_a_message_is_handled_while_the_gateway_stands_at(
    city: City,
    step: str,
    is_second: bool,  # noqa: FBT001 - a case
) -> None:
    calm, held = city.ready("gateway"), city.held("gateway", step)
    city.ready("delivery")
    chat = (await city.direct("anna", "ben")).chat
    async with watching(city, calm.socket_port, "anna") as (anna,):
        first = await anna.client.chat(chat).send("before")
        await anna.holds(chat, range(1, first.sequence + 1))
        others = [Watcher(city, calm.socket_port, "ben", "laptop")] if is_second else []
        for other in others:
            await other.__aenter__()
            await other.live()
        async with Watcher(city, held.socket_port, "ben") as ben:
            await city.reached(step)
            second = await anna.client.chat(chat).send("meanwhile")
            await anna.holds(chat, range(1, second.sequence + 1))
            city.go(step)
            for watcher in (anna, ben, *others):
                await watcher.holds(chat, range(1, second.sequence + 1))
        for other in others:
            await other.__aexit__(None, None, None)


async def test_the_worker_dies_at_each_of_its_steps(city: City) -> None:
    """Killed with -9 where it stands; the next one handles the same event again, and nothing comes twice."""
    (gateway,) = city.ready("gateway")
    chat = (await city.direct("anna", "ben")).chat
    async with watching(city, gateway.socket_port, "anna", "ben") as (anna, ben):
        last = 1
        for step in ("worker.rows_written", "worker.looked_up", "worker.pushed", "worker.marked"):
            worker = city.held("delivery", step)
            last = (await anna.client.chat(chat).send(step)).sequence
            await city.reached(step)
            worker.popen.kill()
            await asyncio.to_thread(worker.exit_code)
        city.ready("delivery")
        for watcher in (anna, ben):
            await watcher.holds(chat, range(1, last + 1))
