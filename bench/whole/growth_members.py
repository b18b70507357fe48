"""Measure how the cost of one message to a group grows with the number of its members.

Only the sender and one receiver are connected. The result is the cost of a member, without the cost of a push to it.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

import httpx
import uvloop
from msgspec.structs import replace

from bench.e2e import Installation, Measured, Phase, installation
from bench.e2e_devices import Line, Pair, Tally
from bench.whole.model import Found, Growth, figure, line
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import new_ulid
from tidings.tenants.model import MAX_MEMBERS
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore

_HANDLED_WITHIN_S = 900.0
_POLL_S = 0.1
_WHY = (
    "The delivery worker writes the chat row of the sender and one head of the group. It looks up the routes of up to a"
    " hundred members, and publishes a message of a larger group once on the chat's channel. So the writes do not depend"
    " on the number of members, and the CPU does only up to a hundred. Only the sender and one receiver are connected"
    " here: the figures show the cost of a member, without the cost of a push to it."
)


@dataclass
class _Points:
    """The measured values, with one point for each group size."""

    cpu: dict[str, list[tuple[float, float]]]
    units: list[tuple[float, float]]
    late: list[tuple[float, float]]


def members(*, is_short: bool) -> Found:
    sizes = [2, 20, 120] if is_short else [2, 10, 30, 100, 300, 1_000, 10_000, 100_000]
    with installation() as here:
        return uvloop.run(_grown(here, sizes, 10 if is_short else 100))


async def _grown(here: Installation, sizes: list[int], messages: int) -> Found:
    points = _Points({}, [], [])
    await serve_large_groups(here)
    for size in sizes:
        pair = await _pair(here, size)
        await _sent(here, pair, messages // 2)
        measured = await _sent(here, pair, messages)
        _note(points, float(size), measured)
        pair.sender.close()
        pair.receiver.close()
    lines = [line(name, "µs of CPU per message", some) for name, some in points.cpu.items()]
    lines.append(line("writes per message", "write units", points.units))
    lines.append(line("send to delivery, p50", "ms", points.late))
    growth = Growth(title="Number of members in a group", along="members", lines=tuple(lines), why=_WHY)
    largest = figure("members in the largest group", float(sizes[-1]), better="more")
    return Found(growths=(growth,), figures=(largest,))


def _note(points: _Points, size: float, measured: Measured) -> None:
    gateways = sum(us for name, us in measured.cpu_us.items() if name.startswith("gateway"))
    costs = {
        "delivery worker": measured.cpu_us["delivery"],
        "both gateways": gateways,
        "DynamoDB": measured.engines_us["dynamo"],
    }
    for name, us in costs.items():
        points.cpu.setdefault(name, []).append((size, us))
    points.units.append((size, measured.write_units))
    points.late.append((size, measured.tally.percentile_ms(0.5)))


async def _pair(here: Installation, size: int) -> Pair:
    return await gathered(here, [f"g{size}-{n}" for n in range(size)])


async def gathered(here: Installation, people: Sequence[str]) -> Pair:
    """Create a group through the API and connect its owner and first member, when all members were added."""
    owner, *others = people
    chat = await create_group(here, owner, others)
    lines = [
        await Line.open(port, here.env.token(user), user)
        for port, user in zip(here.ports, (owner, others[0]), strict=True)
    ]
    pair = Pair(chat, *lines)
    async with asyncio.timeout(_HANDLED_WITHIN_S):
        await pair.send(Tally(), time.perf_counter())
    return pair


async def create_group(here: Installation, owner: str, others: Sequence[str]) -> str:
    """Create a group through the API. Return when its job, if it has one, has added all members."""
    headers = {"authorization": f"Bearer {here.env.token(owner)}"}
    group = {"type": "group", "name": "many", "members": others, "client_message_id": new_ulid()}
    port = here.processes["api"].socket_port
    async with (
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60) as client,
        asyncio.timeout(_HANDLED_WITHIN_S),
    ):
        made = (await client.post("/v1/chats", json=group)).raise_for_status().json()
        while "job" in made:
            await asyncio.sleep(_POLL_S)
            path = f"/v1/chats/{made['id']}/member-jobs/{made['job']}"
            at = (await client.get(path)).raise_for_status().json()
            if at["state"] == "done":
                if at["failed"]:
                    raise AssertionError(f"{at['failed']} members were not added")
                break
    return str(made["id"])


async def serve_large_groups(here: Installation) -> None:
    """Raise the tenant's limit of members, and start the processes that add them."""
    async with here.env.use_cases() as use_cases:
        store = DynamoTenantStore(use_cases.client, use_cases.authentic)
        await TenantService(store, SystemClock()).change(
            use_cases.tenant, lambda settings: replace(settings, max_members=MAX_MEMBERS)
        )
    unlimited = {f"LIMITS_{name}_RATE": "100000/s" for name in ("TENANT", "USER")}
    api, jobs = here.env.ready("api", "notifications", FAILPOINTS_PAUSE_AT="", **unlimited)
    here.processes = {**here.processes, "api": api, "jobs": jobs}


async def _sent(here: Installation, pair: Pair, messages: int) -> Measured:
    """Send messages one after the other: the next one when the previous one was delivered."""
    tally, phase = Tally(), Phase(here)
    began = time.perf_counter()
    for _ in range(messages):
        await pair.send(tally, time.perf_counter())
    return phase.end(tally, time.perf_counter() - began)
