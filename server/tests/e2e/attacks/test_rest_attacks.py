"""Attacks on a real `tidings run api` with reduced bounds: refused, and unnoticed by a client of another tenant."""

import asyncio

import psutil
from e2e.attacks import rest
from e2e.attacks.siege import Attack, Honest, withstand
from e2e.conftest import Api, Start

_MB = 1024 * 1024


def honest_of(api: Api) -> Honest:
    """Ask for a direct chat, on a new connection each time."""

    def ask() -> None:
        answer = api.ask("POST", "/v1/directs", {"user": "ben"})
        assert answer.status == 200, answer

    async def honest() -> None:
        await asyncio.to_thread(ask)

    return honest


UNLIMITED = {
    f"TIDINGS_LIMITS_{whom}_{what}": value
    for whom in ("TENANT", "USER", "ADDRESS")
    for what, value in (("BURST", "1000000"), ("RATE", "100000/s"))
}


async def test_endless_heads(start: Start) -> None:
    api = start(**UNLIMITED)
    honest = honest_of(api)
    await honest()
    process = psutil.Process(api.popen.pid)
    before = process.memory_info().rss
    attacked = await withstand(Attack(rest.heads, {"port": api.api_port}), honest)
    assert 0 < attacked.achieved < 8 * _MB, "what fits into the buffers of the kernel"
    assert process.memory_info().rss - before < 64 * _MB
