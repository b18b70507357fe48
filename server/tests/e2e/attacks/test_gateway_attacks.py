"""Attacks on a real `tidings run gateway` with reduced bounds: refused, and unnoticed by an honest client."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from e2e.attacks import gateway
from e2e.attacks.attack import Attack, Honest, run_attack
from fixtures.chat_list_env import ChatListEnv
from fixtures.gateway_process import GatewayProcess, RunningGateway, connected, gateway_process_in
from fixtures.tables import Tables
from fixtures.use_cases import CLEO, DORA
from websockets.exceptions import InvalidStatus

from tidings_wire.close_codes import CloseCode

SECONDS = 2.0
PAUSE_S = 0.1
MESSAGES = 150
"""3,500 bytes each: together more than the buffers of one connection."""
REDUCED = {
    "TIDINGS_GATEWAY_MAX_CONCURRENT_RESUMES": "2",
    "TIDINGS_GATEWAY_TENANT_SHARE": "0.8",
    "TIDINGS_GATEWAY_MAX_CONNECTIONS": "40",
    "TIDINGS_GATEWAY_MAX_CONNECTIONS_PER_ADDRESS": "20",
    "TIDINGS_GATEWAY_MAX_DEVICES_PER_USER": "5",
    "TIDINGS_GATEWAY_MAX_HANDSHAKES": "20",
    "TIDINGS_GATEWAY_MAX_HANDSHAKES_PER_ADDRESS": "8",
    "TIDINGS_GATEWAY_MAX_CONNECTS_PER_S": "40",
    "TIDINGS_GATEWAY_CONNECT_BURST": "40",
    "TIDINGS_GATEWAY_MAX_CONNECTS_PER_S_PER_ADDRESS": "20",
}


class Besieged(NamedTuple):
    """One installation with two tenants: the attacker's and the honest client's."""

    evil: GatewayProcess
    good: GatewayProcess
    port: int
    chat: str
    """A direct chat of the attacker's two users with a long history."""

    def honest(self, port: int = 0, tenant: GatewayProcess | None = None) -> Honest:
        """Connect a device, wait until it is live, and send a request."""

        async def honest() -> None:
            async with connected(tenant or self.good, port or self.port, "anna", device="phone") as device:
                assert await device.ask("ping") == {}

        return honest

    def attack(self, run: object, number: int, port: int = 0, **given: object) -> Attack:
        """Attack from the loopback address with this number, so that no attack uses up the limits of another."""
        assert callable(run)
        where = {"port": port or self.port, "source": f"127.0.0.{number}"}
        return Attack(run, where | given, SECONDS, PAUSE_S)


@pytest.fixture(scope="module")
def besieged(
    tables_local: Tables, valkey: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Besieged]:
    directory: Path = tmp_path_factory.mktemp("besieged")
    with gateway_process_in(tables_local, valkey, directory) as evil:
        good = GatewayProcess(tables_local, valkey, directory)
        chat = asyncio.run(founded(evil, good))
        yield Besieged(evil, good, started(evil).socket_port, chat)


async def founded(evil: GatewayProcess, good: GatewayProcess) -> str:
    await evil.create_tenant()
    await good.create_tenant()
    async with evil.use_cases() as use_cases:
        chat = await use_cases.manage.direct(use_cases.tenant, CLEO, DORA)
        for _ in range(MESSAGES):
            await use_cases.send(chat, CLEO, "x" * 3_500)
        await ChatListEnv(use_cases).deliver()
    return chat.chat


def started(env: GatewayProcess, **changes: str) -> RunningGateway:
    return env.start(**REDUCED | changes)


async def test_slow_resumes_do_not_affect_others(besieged: Besieged) -> None:
    credentials = [besieged.evil.token(user) for user in (CLEO, DORA)]
    attack = besieged.attack(gateway.slow_resumes, 2, credentials=credentials, chat=besieged.chat)
    # Another user of the attacker's tenant: the share of a tenant does not protect this user.
    attacked = await run_attack(attack, besieged.honest(tenant=besieged.evil))
    assert attacked.achieved == [2, 2], "two devices of a user resume at a time"


async def test_silent_connections_do_not_affect_others(besieged: Besieged) -> None:
    attack = besieged.attack(gateway.idle_handshakes, 3, count=40)
    attacked = await run_attack(attack, besieged.honest())
    assert attacked.achieved > 0


async def test_upgrades_without_connect_do_not_affect_others(besieged: Besieged) -> None:
    attacked = await run_attack(besieged.attack(gateway.upgrades, 4), besieged.honest())
    # How many are refused depends on how much CPU the attacker gets; how many are accepted does not.
    assert 0 < attacked.achieved["101"] <= 20
    assert attacked.achieved["503"] > 0


async def test_many_devices_of_one_user_do_not_affect_others(besieged: Besieged) -> None:
    attack = besieged.attack(gateway.devices, 5, credential=besieged.evil.token(CLEO))
    attacked = await run_attack(attack, besieged.honest())
    assert 0 < attacked.achieved["open"] <= 5 < attacked.achieved[str(CloseCode.TOO_MANY_DEVICES.value)]


async def test_ping_floods_do_not_affect_others(besieged: Besieged) -> None:
    attacked = await run_attack(besieged.attack(gateway.pings, 6), besieged.honest())
    assert set(attacked.achieved) == {str(CloseCode.RATE_LIMITED.value)}


async def test_empty_fragments_do_not_affect_others(besieged: Besieged) -> None:
    attack = besieged.attack(gateway.empty_fragments, 7, credential=besieged.evil.token(CLEO))
    attacked = await run_attack(attack, besieged.honest())
    assert set(attacked.achieved) == {str(CloseCode.RATE_LIMITED.value)}


async def test_the_check_detects_a_gateway_without_limits_per_address(besieged: Besieged) -> None:
    """Show that the check can fail: one address may take every connection here."""
    shared = {
        "TIDINGS_GATEWAY_MAX_CONNECTIONS_PER_ADDRESS": "40",
        "TIDINGS_GATEWAY_MAX_CONNECTS_PER_S_PER_ADDRESS": "1000",
        "TIDINGS_GATEWAY_MAX_CONNECTS_PER_S": "1000",
        "TIDINGS_GATEWAY_CONNECT_BURST": "1000",
    }
    port = started(besieged.evil, **shared).socket_port
    with pytest.raises(InvalidStatus, match="503"):
        await run_attack(besieged.attack(gateway.upgrades, 8, port), besieged.honest(port))
