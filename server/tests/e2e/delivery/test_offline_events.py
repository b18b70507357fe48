"""Offline events of sockets that are closed, frozen or lost with their gateway, compared with the acks of their device."""

import asyncio
import json
import signal
import sys
from pathlib import Path

import pytest
from contract.kafka.harness import read_log
from e2e.delivery.chat_list_reader import looking
from e2e.delivery.connected_device import watching
from fixtures.installation_processes import Balancer, InstallationProcesses

from tidings.platform.kafka.config import KafkaConfig

CLIENT = Path(__file__).with_name("acking_client.py")
QUICK = {"GATEWAY_LEASE_S": "6", "GATEWAY_RENEW_EVERY_S": "2"}
QUIET_S = 5.0
"""Longer than a check takes, so that an event that must not exist would be there."""


class OfflineEvents:
    def __init__(self, installation: InstallationProcesses) -> None:
        self._kafka = KafkaConfig(
            bootstrap_servers=installation.kafka, topic_prefix=installation.space.topic_prefix
        )

    async def read(self, user: str) -> list[int]:
        """Return the sequences of a user's events in order, with repetitions."""
        log = await asyncio.to_thread(read_log, self._kafka, "offline")
        events = [json.loads(value) for values in log.values() for value in values]
        return sorted(event["sequence"] for event in events if event["recipient"] == user)

    async def wait(self, user: str, sequences: list[int], within_s: float = 120.0) -> None:
        """Wait for events of these sequences. Fail unless there are exactly these, each once."""
        async with asyncio.timeout(within_s):
            while not set(sequences) <= set(await self.read(user)):  # noqa: ASYNC110 - it is another process
                await asyncio.sleep(0.5)
        await asyncio.sleep(QUIET_S)
        assert await self.read(user) == sequences


async def test_a_closed_socket_has_events_for_what_was_not_acknowledged(
    installation: InstallationProcesses,
) -> None:
    (gateway,), _, _ = (installation.ready(kind) for kind in ("gateway", "delivery", "notifications"))
    events = OfflineEvents(installation)
    chat = (await installation.direct("anna", "ben")).chat
    async with looking(installation, gateway.socket_port, "anna") as anna:
        async with looking(installation, gateway.socket_port, "ben") as ben:
            for sequence in (2, 3, 4, 5):
                await anna.send(chat)
                await ben.holds(chat, sequence)
            await ben.say(id=90, ack={"delivered": {chat: 3}})
            await ben.answered(90)
        await events.wait("ben", [4, 5])
        await anna.send(chat)
        await events.wait("ben", [4, 5, 6])
    assert await events.read("anna") == []


@pytest.mark.long
async def test_a_frozen_client_has_events_for_what_it_did_not_acknowledge(
    installation: InstallationProcesses,
) -> None:
    """The client is stopped by SIGSTOP: its kernel keeps the socket open and accepts data."""
    (gateway,), _, _ = (installation.ready(kind) for kind in ("gateway", "delivery", "notifications"))
    events = OfflineEvents(installation)
    chat = (await installation.direct("anna", "ben")).chat
    client = await asyncio.create_subprocess_exec(
        sys.executable, CLIENT, str(gateway.socket_port), installation.token("ben"),
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert client.stdout
    try:
        assert await client.stdout.readline() == b"resumed\n"
        async with looking(installation, gateway.socket_port, "anna") as anna:
            for sequence in (2, 3, 4):
                await anna.send(chat)
                assert await client.stdout.readline() == f"{sequence}\n".encode()
            client.send_signal(signal.SIGSTOP)
            for sequence in (5, 6, 7):
                await anna.send(chat)
                await anna.holds(chat, sequence)
            await events.wait("ben", [5, 6, 7])
    finally:
        client.kill()
        await client.wait()


async def test_a_killed_gateway_has_events_unless_the_device_reconnects(
    installation: InstallationProcesses,
) -> None:
    (one,), (two,) = (installation.ready("gateway", **QUICK) for _ in range(2))
    for kind in ("delivery", "notifications"):
        installation.ready(kind, **QUICK)
    events = OfflineEvents(installation)
    chat, other = [(await installation.direct("anna", user)).chat for user in ("ben", "cleo")]
    async with (
        Balancer() as balancer,
        looking(installation, one.socket_port, "anna") as anna,
        looking(installation, two.socket_port, "ben") as ben,
    ):
        balancer.ports = [two.socket_port]
        async with watching(installation, balancer.port, "cleo") as (cleo,):
            await anna.send(chat)
            await ben.holds(chat, 2)
            await anna.send(other)
            await cleo.holds(other, [1, 2])
            balancer.ports = [one.socket_port]
            two.popen.kill()
            await anna.send(chat)
            await anna.send(other)
            await cleo.holds(other, [1, 2, 3])
            await events.wait("ben", [2, 3])
            assert await events.read("cleo") == []
