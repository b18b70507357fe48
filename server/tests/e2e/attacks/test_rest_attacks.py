"""Attacks on a real `tidings run api` with reduced bounds: refused, and unnoticed by a client of another tenant."""

import asyncio
from pathlib import Path

import psutil
import pytest
from e2e.attacks import rest
from e2e.attacks.attack import Attack, Honest, run_attack
from e2e.conftest import Api, Start, make_tenant
from fixtures.engines import Namespace
from fixtures.tables import Tables

from tidings.accounts.model import Scope

_MB = 1024 * 1024


def honest_of(api: Api) -> Honest:
    """Ask for a direct chat, on a new connection each time."""

    def ask() -> None:
        answer = api.ask("POST", "/v1/chats", {"type": "direct", "user": "ben"})
        assert answer.status == 200, answer

    async def honest() -> None:
        await asyncio.to_thread(ask)

    return honest


@pytest.fixture
def evil(tables_local: Tables, tmp_path: Path) -> str:
    """The API key of the attacker's own tenant."""
    return make_tenant(tables_local, Namespace(), tmp_path, [Scope.ACT_AS_USER, Scope.NOTIFICATIONS])


UNLIMITED = {
    f"TIDINGS_LIMITS_{whom}_{what}": value
    for whom in ("TENANT", "USER", "ADDRESS")
    for what, value in (("BURST", "1000000"), ("RATE", "100000/s"))
}


def _socket_buffer_bytes() -> int:
    """The most bytes that the kernel takes from a client for a server that does not read."""
    limits = [Path("/proc/sys/net/ipv4", name).read_text() for name in ("tcp_rmem", "tcp_wmem")]
    return sum(int(limit.split()[2]) for limit in limits)


async def test_endless_headers_do_not_affect_others(start: Start) -> None:
    api = start(**UNLIMITED)
    honest = honest_of(api)
    await honest()
    process = psutil.Process(api.popen.pid)
    before = process.memory_info().rss
    attacked = await run_attack(Attack(rest.heads, {"port": api.api_port}), honest)
    assert 0 < attacked.achieved < _socket_buffer_bytes() + _MB
    assert process.memory_info().rss - before < 64 * _MB


async def test_exponential_schemas_do_not_affect_others(start: Start, evil: str) -> None:
    api = start(**UNLIMITED)
    given = {"port": api.api_port, "bearer": evil}
    attacked = await run_attack(Attack(rest.schema_bomb, given), honest_of(api))
    assert attacked.achieved == {
        "set doubling": [400],
        "doubling": [404],
        "set patterns": [400],
        "patterns": [404],
        "set costly": [200],
        "costly": [422],
    }


async def test_idle_connections_do_not_affect_others(start: Start) -> None:
    api = start(**UNLIMITED, TIDINGS_API_MAX_CONNECTIONS="20")
    given = {"port": api.api_port, "count": 20}
    attacked = await run_attack(Attack(rest.idle_connections, given), honest_of(api))
    assert attacked.achieved > 0, "idle connections without a credential make room"


async def test_forged_credentials_from_the_same_address_do_not_affect_others(start: Start) -> None:
    limits = {"TIDINGS_LIMITS_ADDRESS_RATE": "20/s", "TIDINGS_LIMITS_ADDRESS_BURST": "40"}
    users = {name: value for name, value in UNLIMITED.items() if "ADDRESS" not in name}
    api = start(**users, **limits)
    attack = Attack(rest.bad_credentials, {"port": api.api_port}, pause_s=0.1)
    attacked = await run_attack(attack, honest_of(api))
    assert attacked.achieved["429"] > attacked.achieved["401"] > 0


async def test_creating_large_groups_does_not_affect_others(start: Start, evil: str) -> None:
    api = start()
    attack = Attack(rest.groups, {"port": api.api_port, "bearer": evil}, pause_s=0.1)
    attacked = await run_attack(attack, honest_of(api))
    assert 0 < attacked.achieved["202"] <= 3 + 3 * attack.seconds, "few of the many that were asked for"
    assert attacked.achieved["429"] > attacked.achieved["202"]
