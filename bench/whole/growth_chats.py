"""Measure how the cost to connect a device and to read the chat list grows with the chats of a user."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from itertools import batched

import uvloop
from fixtures.chat_list_env import ChatListEnv
from fixtures.gateway_process import GatewayProcess, RunningGateway, SocketDevice
from fixtures.installation import installation
from fixtures.use_cases import ANNA, UseCaseEnv

from bench.whole.model import Found, Growth, line
from bench.whole.using import cpu_us, dynamo_units, listener, metric_sum
from tidings.kernel.ids import ChatId, ChatKey, UserId
from tidings_wire.fields import MAX_POSITIONS

_AT_ONCE = 32
_PAGE = 50
_IDLE_S = 1.5
_IDLE_US = 100_000
_IDLE_WITHIN_S = 60.0
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
    " active groups with a BatchGetItem for each hundred. Each head costs one read unit. A group without an entry for two"
    " weeks is quiet: its position is in the row, so its head is not read. The ten groups with new messages cost a Query"
    " of the log and a look-up of the membership each."
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
    """Connect a device that has every message but the last one of ten groups: first all are active, then ten."""
    gateway, copying = env.start(), env.start(TIDINGS_GATEWAY_QUIET_AFTER_S="0.001")
    costs: dict[str, Points] = {name: {"µs of CPU": [], "read units": []} for name in (_ACTIVE, _QUIET)}
    async with env.use_cases() as use_cases:
        lists, positions = ChatListEnv(use_cases), dict[str, int]()
        for size in sizes:
            positions |= await _more_groups(use_cases, lists, size - len(positions))
            await _cost_of_connect(env, gateway, positions, costs[_ACTIVE], times)
            await _copy_heads(env, copying, positions)
            await _one_more_each(use_cases, lists, positions)
            await _cost_of_connect(env, gateway, positions, costs[_QUIET], times)
    lines = [line(name, unit, some) for name, points in costs.items() for unit, some in points.items()]
    return Growth(title="Number of groups of a user", along="groups", lines=tuple(lines), why=_WHY_GROUPS)


async def _cost_of_connect(
    env: GatewayProcess, gateway: RunningGateway, positions: Mapping[str, int], costs: Points, times: int
) -> None:
    connect = partial(_connected, env, gateway.socket_port, _without_last(positions), _MEMBER)
    before = dynamo_units(gateway, "read")
    cpu, _ = await _timed(connect, times, gateway.popen.pid, gateway.popen.pid)
    units = (dynamo_units(gateway, "read") - before) / (times + 1)
    costs["µs of CPU"].append((float(len(positions)), cpu))
    costs["read units"].append((float(len(positions)), [units]))


async def _copy_heads(env: GatewayProcess, gateway: RunningGateway, positions: Mapping[str, int]) -> None:
    """Connect until all groups are quiet. A gateway copies at most 100 heads after a resume."""
    copied = -1.0
    while (now := metric_sum(gateway, "tidings_gateway_quiet_rows_total")) > copied:
        copied = now
        await _connected(env, gateway.socket_port, positions, _MEMBER)
        await _idle(gateway.popen.pid)


async def _one_more_each(use_cases: UseCaseEnv, lists: ChatListEnv, positions: dict[str, int]) -> None:
    """Send a message in the last ten groups, so that they are active."""
    for chat in list(positions)[-_CHANGED:]:
        sent = await use_cases.send(ChatKey(use_cases.tenant, ChatId(chat)), ANNA, "and here is more")
        positions[chat] = sent.sequence
    await lists.deliver()


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


_ACTIVE = "connect with ten changed groups"
_QUIET = "connect with ten changed groups, the others quiet"
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
        await _idle(serving)
    cpu, engines = [], []
    for _ in range(times):
        own, theirs = _spent_us(serving), cpu_us(engine)
        await work()
        cpu.append(_spent_us(serving) - own)
        engines.append(cpu_us(engine) - theirs)
    return cpu, engines


async def _idle(pid: int) -> None:
    """Wait until the gateway is idle.

    New positions are acknowledgements, which the gateway writes a second later, chat by chat. This work occurs once.
    """
    ends_at = time.monotonic() + _IDLE_WITHIN_S
    while time.monotonic() < ends_at:
        before = cpu_us(pid)
        await asyncio.sleep(_IDLE_S)
        if cpu_us(pid) - before < _IDLE_US:
            return
    raise TimeoutError(f"The gateway is not idle after {_IDLE_WITHIN_S} seconds.")


def _spent_us(pid: int | None) -> float:
    return time.process_time() * 1e6 if pid is None else cpu_us(pid)
