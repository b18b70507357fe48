"""Measure how the cost to connect a device and to read the chat list grows with the chats of a user."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from itertools import batched

import uvloop
from fixtures.chat_list_env import ChatListEnv
from fixtures.gateway_process import GatewayProcess, SocketDevice
from fixtures.installation import installation
from fixtures.use_cases import ANNA, UseCaseEnv

from bench.whole.model import Found, Growth, line
from bench.whole.using import cpu_us, dynamo_units, listener
from tidings.kernel.ids import UserId
from tidings_wire.fields import MAX_POSITIONS

_AT_ONCE = 32
_PAGE = 50
_QUIET_S = 1.5
_QUIET_US = 100_000
_QUIET_WITHIN_S = 60.0
_WHY = (
    "One Query reads all chat rows of a user, a few hundred bytes each. The gateway compares each row with the device's"
    " position, and the chat list sorts the rows by time. An index by time would make the list cheaper and every message"
    " more expensive, because each message would move a row of every member in it. So the reader pays, in proportion to"
    " the number of chats, and the sender does not."
)

_CHANGED = 10
_MEMBER = UserId("member")
_WHY_GROUPS = (
    "A group has one head for all its members, so the gateway reads the user's rows with one Query and the heads of all"
    " groups with a BatchGetItem for each hundred. Each head costs one read unit. The ten groups with new messages cost a"
    " Query of the log and a look-up of the membership each."
)

type Points = dict[str, list[tuple[float, list[float]]]]


def chats(*, is_short: bool) -> Found:
    sizes, times = ([10, 20, 40], 2) if is_short else ([10, 50, 200, 500, 1_000, 2_000], 12)
    with installation() as env:
        return uvloop.run(_grown(env, sizes, times))


async def _grown(env: GatewayProcess, sizes: list[int], times: int) -> Found:
    gateway, engine = env.start(), listener(env.tables.url)
    port, points = gateway.socket_port, _nothing()
    async with env.use_cases() as use_cases:
        lists, positions = ChatListEnv(use_cases), dict[str, int]()
        for size in sizes:
            positions |= await _more_chats(use_cases, lists, len(positions), size)
            serving = (gateway.popen.pid, engine)
            known = await _timed(partial(_connected, env, port, positions), times, *serving)
            stranger = await _timed(partial(_connected, env, port, {}), times, *serving)
            shown = await _timed(partial(lists.page, ANNA, limit=_PAGE), times, None, engine)
            for name, (cpu, _) in {_KNOWN: known, _NEW: stranger, _LIST: shown}.items():
                points[name].append((float(size), cpu))
            points[_LIST_ENGINE].append((float(size), shown[1]))
    lines = [line(name, "µs of CPU", some) for name, some in points.items()]
    chats = Growth(title="Number of chats of a user", along="chats", lines=tuple(lines), why=_WHY)
    return Found(growths=(chats,))


def groups(*, is_short: bool) -> Found:
    sizes, times = ([10, 20], 2) if is_short else ([20, 200, 2_000], 12)
    with installation() as env:
        return Found(growths=(uvloop.run(_grown_groups(env, sizes, times)),))


async def _grown_groups(env: GatewayProcess, sizes: list[int], times: int) -> Growth:
    """Connect a device that has every message but the last one of ten groups."""
    gateway = env.start()
    cpu_points, unit_points = list[tuple[float, list[float]]](), list[tuple[float, list[float]]]()
    async with env.use_cases() as use_cases:
        lists, positions = ChatListEnv(use_cases), dict[str, int]()
        for size in sizes:
            positions |= await _more_groups(use_cases, lists, size - len(positions))
            connect = partial(_connected, env, gateway.socket_port, _without_last(positions), _MEMBER)
            before = dynamo_units(gateway, "read")
            cpu, _ = await _timed(connect, times, gateway.popen.pid, gateway.popen.pid)
            units = (dynamo_units(gateway, "read") - before) / (times + 1)
            cpu_points.append((float(size), cpu))
            unit_points.append((float(size), [units]))
    lines = (
        line("connect with ten changed groups (gateway)", "µs of CPU", cpu_points),
        line("connect with ten changed groups", "read units", unit_points),
    )
    return Growth(title="Number of groups of a user", along="groups", lines=lines, why=_WHY_GROUPS)


async def _more_groups(use_cases: UseCaseEnv, lists: ChatListEnv, count: int) -> dict[str, int]:
    """Create groups with one message in each. Return the head of each group."""

    async def one(_: int) -> tuple[str, int]:
        chat = await use_cases.group(_MEMBER)
        return chat.chat, (await use_cases.send(chat, ANNA, "hello, it has been a while")).sequence

    made: dict[str, int] = {}
    for some in batched(range(count), _AT_ONCE):
        made |= dict(await asyncio.gather(*map(one, some)))
        await lists.deliver()
    return made


def _without_last(positions: Mapping[str, int]) -> dict[str, int]:
    """Return positions of a device that lacks the last message of ten groups."""
    changed = set(list(positions)[-_CHANGED:])
    return {chat: sequence - (chat in changed) for chat, sequence in positions.items()}


_KNOWN = "connect a device that has every message (gateway)"
_NEW = "connect a new device (gateway)"
_LIST = "read a page of the chat list (Tidings)"
_LIST_ENGINE = "read a page of the chat list (DynamoDB)"


def _nothing() -> Points:
    return {name: [] for name in (_KNOWN, _NEW, _LIST, _LIST_ENGINE)}


async def _more_chats(use_cases: UseCaseEnv, lists: ChatListEnv, have: int, want: int) -> dict[str, int]:
    """Create direct chats with one message in each. Return the head of each chat."""

    async def one(number: int) -> tuple[str, int]:
        other = UserId(f"friend-{number}")
        chat = await use_cases.manage.direct(use_cases.tenant, ANNA, other)
        return chat.chat, (await use_cases.send(chat, other, "hello, it has been a while")).sequence

    made: dict[str, int] = {}
    for some in batched(range(have, want), _AT_ONCE):
        made |= dict(await asyncio.gather(*map(one, some)))
        await lists.deliver()
    return made


async def _connected(
    env: GatewayProcess, port: int, positions: Mapping[str, int], user: UserId = ANNA
) -> None:
    """Connect a device and wait until its resume is complete.

    A frame holds at most `MAX_POSITIONS` positions; further ones are sent in `resume` requests.
    """
    device = await SocketDevice.open(port)
    parts = [dict(part) for part in batched(positions.items(), MAX_POSITIONS)] or [{}]
    who = {"credential": env.token(user), "protocol": 1, "device": "bench", "epoch": 0}
    await device.say({"id": 1, "connect": {**who, "positions": parts[0], "has_more": len(parts) > 1}})
    for number in range(1, len(parts) + 1):
        await _resumed(device, number)
        if number < len(parts):
            resume = {"positions": parts[number], "epoch": 0, "has_more": number + 1 < len(parts)}
            await device.say({"id": number + 1, "resume": resume})
    await device.close()


async def _resumed(device: SocketDevice, part: int) -> None:
    """Wait until a part is resumed. The first part ends with a push, later parts with the answer to their request."""
    while True:
        frame = json.loads(await device.ws.recv())
        if "error" in frame:
            raise ConnectionError(str(frame))
        if "resumed" in frame if part == 1 else frame.get("id") == part:
            return


async def _timed(
    work: Callable[[], Awaitable[object]], times: int, serving: int | None, engine: int
) -> tuple[list[float], list[float]]:
    """Return the CPU of the serving process (None: this process) and of the engine for each call.

    The first call is not counted.
    """
    await work()
    if serving is not None:
        await _quiet(serving)
    cpu, engines = [], []
    for _ in range(times):
        own, theirs = _spent_us(serving), cpu_us(engine)
        await work()
        cpu.append(_spent_us(serving) - own)
        engines.append(cpu_us(engine) - theirs)
    return cpu, engines


async def _quiet(pid: int) -> None:
    """Wait until the gateway is idle.

    New positions are acknowledgements, which the gateway writes a second later, chat by chat. This work occurs once.
    """
    ends_at = time.monotonic() + _QUIET_WITHIN_S
    while time.monotonic() < ends_at:
        before = cpu_us(pid)
        await asyncio.sleep(_QUIET_S)
        if cpu_us(pid) - before < _QUIET_US:
            return
    raise TimeoutError(f"The gateway is not idle after {_QUIET_WITHIN_S} seconds.")


def _spent_us(pid: int | None) -> float:
    return time.process_time() * 1e6 if pid is None else cpu_us(pid)
