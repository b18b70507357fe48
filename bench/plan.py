"""Compare the units that `tidings plan` predicts for three workloads with the units that an installation consumes.

direct   Pairs of users with a direct chat: a third of the receivers shows the chat, a third is connected, a third is absent
         and connects at the end.
groups   A group of 50 connected members, and a group of 100 with a connected sender and 99 absent members.
reads    Users with direct chats and groups open their lists and chats, connect, and receive what they missed in groups.

Two gateways, an API, a delivery worker, a relay and a worker for offline checks run as processes. Each workload is described
by the same inputs as a plan, as if it were the load of a day. Not compared: units that depend on time and
on the number of processes (leases, settings of tenants, due jobs, users, keys of users).
"""

import argparse
import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final, NamedTuple

import httpx
import uvloop
from fixtures.chat_list_env import ChatListEnv
from fixtures.use_cases import by

from bench.e2e import Installation, installation, pairs_of
from bench.e2e_devices import Line, Pair, Tally
from bench.report import print_figures, print_table
from bench.whole.growth_members import create_group, serve_large_groups
from tidings.capacity.model import Workload
from tidings.capacity.rules import PAGE_ENTRIES, daily_operations
from tidings.kernel.ids import ChatKey, UserId

TOLERANCE: Final = 0.2
_EVERY_S = 6.0
"""Longer than the time for which the unread total of an absent user is kept."""
_SETTLE_S = 4.0
"""Longer than a gateway holds an ack back. A workload has ended when it uses no units for this time."""
_SETTLED_WITHIN_S = 120.0
_IDLE_UNITS = 2
"""Users that an idle gateway confirms in this time."""
_TEXT = "x" * 100
_SAMPLE = re.compile(r"tidings_dynamo_(write|read)_units_total\{(.*)\} (\S+)")
_IDLE_TABLES: Final = frozenset({"leases", "tenants", "user_keys", "users"})
_IDLE_PATTERNS: Final = frozenset({"jobs.list_due"})


_NOTHING: Final = Workload(
    daily_users=1,
    message_bytes=len(_TEXT),
    large_group_share=0,
    in_a_row=1e9,
    devices=1,
    connects=0,
    chat_opens=0,
    list_opens=0,
    direct_chats=0,
    groups=0,
    new_chats=0,
    notifications=0,
    broadcasts=0,
)
"""Users who do nothing but what a workload says. Their chats are in the caches of the processes."""


class Units(NamedTuple):
    write: float
    read: float


@dataclass(frozen=True)
class Compared:
    """A workload with its predicted and its measured units."""

    name: str
    predicted: Units
    measured: Units
    by_table: Counter[tuple[str, str]]

    @property
    def ratios(self) -> Units:
        """Return predicted divided by measured units."""
        return Units(
            *(mine / max(theirs, 1) for mine, theirs in zip(self.predicted, self.measured, strict=True))
        )


def predicted(workloads: Iterable[Workload]) -> Units:
    daily = [each for workload in workloads for each in daily_operations(workload)]
    return Units(
        sum(_compared(operation.writes) * times for operation, times in daily),
        sum(_compared(operation.reads) * times for operation, times in daily),
    )


def _compared(units: Mapping[str, float]) -> float:
    return sum(value for table, value in units.items() if table not in _IDLE_TABLES)


def consumed(here: Installation) -> Counter[tuple[str, str]]:
    """Return the units of all processes by kind and table, without those of idle processes."""
    found = Counter[tuple[str, str]]()
    for process in here.processes.values():
        for kind, labels, value in _SAMPLE.findall(process.get("/metrics")[1]):
            of = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            if of["table"] not in _IDLE_TABLES and of["pattern"] not in _IDLE_PATTERNS:
                found[kind, of["table"]] += float(value)  # type: ignore[assignment]
    return found


async def settled(here: Installation) -> None:
    """Wait until the processes use no more units."""
    async with asyncio.timeout(_SETTLED_WITHIN_S):
        before, now = -1.0, sum(consumed(here).values())
        while before < 0 or now - before > _IDLE_UNITS:
            await asyncio.sleep(_SETTLE_S)
            before, now = now, sum(consumed(here).values())


async def compare(
    here: Installation, name: str, workloads: Iterable[Workload], run: Callable[[], Awaitable[object]]
) -> Compared:
    before = consumed(here)
    await run()
    await settled(here)
    used = consumed(here)
    used.subtract(before)
    total = Units(
        *(sum(units for (each, _), units in used.items() if each == kind) for kind in Units._fields)
    )
    return Compared(name, predicted(workloads), total, used)


async def direct(here: Installation, messages: int) -> Compared:
    pairs = await pairs_of(here, 12)
    for pair in pairs:  # fills the caches of the processes
        await pair.send(Tally(), 0.0)
    reading, away = pairs[:4], pairs[8:]
    for pair in reading:
        pair.receiver.has_chat_open = True
    for pair in away:
        pair.receiver.close()
    await settled(here)

    async def run() -> None:
        await _send(pairs, messages)
        for pair in away:
            positions = {pair.chat: pair.head - messages}
            user = pair.receiver.user
            pair.receiver = await Line.open(here.ports[0], here.env.token(user), user, positions)

    users = 2 * len(pairs)
    workload = replace(
        _NOTHING,
        daily_users=users,
        messages=messages * len(pairs) / users,
        direct_share=1,
        connected_share=2 / 3,
        read_share=0.5,
        per_minute=messages,
        connects=len(away) / users,
        direct_chats=1,
    )
    return await compare(here, "direct", [workload], run)


async def _send(pairs: list[Pair], messages: int) -> None:
    """Send messages in all chats, at the pace of people."""
    for number in range(messages):
        await asyncio.gather(*(pair.acked() for pair in pairs))
        if number < messages - 1:
            await asyncio.sleep(_EVERY_S)


async def groups(here: Installation, messages: int) -> Compared:
    online, away = ([f"{name}-{n}" for n in range(size)] for name, size in (("on", 50), ("away", 100)))
    lines = {}
    pairs = []
    for people, connected in ((online, online), (away, away[:1])):
        chat = await create_group(here, people[0], people[1:])
        for number, user in enumerate(connected):
            lines[user] = await Line.open(here.ports[number % 2], here.env.token(user), user)
        pairs.append(Pair(chat, lines[people[0]], lines[connected[-1]]))
    await settled(here)

    async def run() -> None:
        await _send(pairs, messages)
        await settled(here)
        for line in lines.values():  # a gateway writes the acks that wait when a device disconnects
            line.close()

    of = [
        replace(
            _NOTHING,
            daily_users=size,
            messages=messages / size,
            direct_share=0,
            group_members=size,
            connected_share=share,
            group_read_share=0,
            per_minute=messages,
            groups=1,
        )
        for size, share in ((len(online), 1.0), (len(away), 0.0))
    ]
    return await compare(here, "groups", of, run)


async def reads(here: Installation, lists: int) -> Compared:
    people = [f"reader-{number}" for number in range(10)]
    directs, in_groups = await _chats(here, people)
    sender, *others = people
    positions = dict.fromkeys((*in_groups, *directs), PAGE_ENTRIES + 1)
    for user in people:  # creates the users
        (await Line.open(here.ports[0], here.env.token(user), user, positions)).close()
    await asyncio.sleep(1)

    async def run() -> None:
        for number, user in enumerate(people):
            line = await Line.open(here.ports[number % 2], here.env.token(user), user, _known(user))
            chats = [*in_groups, *(chat for chat, both in directs.items() if user in both)]
            await _read(here, line, user, chats, lists)
            line.close()
        await asyncio.sleep(1)
        line = await Line.open(here.ports[0], here.env.token(sender), sender, _known(sender))
        for chat in in_groups:
            pair = Pair(chat, line, line)
            pair.head = PAGE_ENTRIES + 1
            await pair.acked()
        await settled(here)
        again = [await Line.open(here.ports[1], here.env.token(user), user, _known(user)) for user in others]
        await settled(here)
        for each in again:  # a gateway writes the acks that wait
            each.close()

    def _known(user: str) -> dict[str, int]:
        return {chat: at for chat, at in positions.items() if chat in in_groups or user in directs[chat]}

    workload = _reading(len(people), len(in_groups), lists)
    return await compare(here, "reads", [workload], run)


def _reading(users: int, groups: int, lists: int) -> Workload:
    return replace(
        _NOTHING,
        chat_opens=14,
        list_opens=lists,
        daily_users=users,
        messages=groups / users,
        in_a_row=1,
        direct_share=0,
        group_members=users,
        connected_share=0,
        per_minute=1,
        connects=2,
        direct_chats=9,
        groups=groups,
    )


async def _chats(here: Installation, people: list[str]) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Create five groups of all people and a direct chat of each pair, with a page of messages each."""
    async with here.env.use_cases() as use_cases:
        sender, *others = map(UserId, people)
        made: list[ChatKey] = [
            await use_cases.manage.group(use_cases.tenant, by(sender), f"group {number}", others)
            for number in range(5)
        ]
        pairs = list(combinations(people, 2))
        for one, two in pairs:
            made.append(await use_cases.manage.direct(use_cases.tenant, UserId(one), UserId(two)))
        for chat, author in zip(made, [sender] * 5 + [UserId(one) for one, _ in pairs], strict=True):
            for number in range(PAGE_ENTRIES):
                await use_cases.send(chat, author, _TEXT, after=number + 1)
        await ChatListEnv(use_cases).deliver()
    names = [str(chat.chat) for chat in made]
    return dict(zip(names[5:], pairs, strict=True)), names[:5]


async def _read(here: Installation, line: Line, user: str, chats: list[str], lists: int) -> None:
    headers = {"authorization": f"Bearer {here.env.token(user)}"}
    api = f"http://127.0.0.1:{here.processes['api'].socket_port}"
    async with httpx.AsyncClient(base_url=api, headers=headers, timeout=60) as client:
        for _ in range(lists):
            (await client.get("/v1/chats", params={"limit": 20})).raise_for_status()
        for chat in chats:
            page = await client.get(f"/v1/chats/{chat}/messages", params={"limit": PAGE_ENTRIES})
            page.raise_for_status()
            for kind, body in (
                ("subscribe", {"chats": [chat]}),
                ("read", {"chat": chat, "sequence": PAGE_ENTRIES + 1}),
                ("unsubscribe", {"chats": [chat]}),
            ):
                answer = await line.ask(kind, body)
                if "code" in answer:
                    raise ConnectionError(f"{kind}: {answer}")


async def bench(here: Installation, messages: int) -> list[Compared]:
    await serve_large_groups(here)
    return [await direct(here, messages), await reads(here, 3), await groups(here, messages)]


def show(found: list[Compared]) -> None:
    rows = []
    for each in found:
        for kind in Units._fields:
            mine, theirs = getattr(each.predicted, kind), getattr(each.measured, kind)
            rows.append(
                (each.name, kind, f"{mine:.0f}", f"{theirs:.0f}", f"{getattr(each.ratios, kind):.2f}")
            )
    print_table(("workload", "units", "predicted", "measured", "ratio"), rows)
    spent = [
        (each.name, kind, table, f"{units:.0f}")
        for each in found
        for (kind, table), units in sorted(each.by_table.items())
        if units
    ]
    print_table(("workload", "units", "table", "measured"), spent)
    print_figures(
        {f"{each.name}_{kind}_ratio": getattr(each.ratios, kind) for each in found for kind in Units._fields}
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=12, help="messages in each chat, one every 6 seconds")
    options = parser.parse_args()
    with installation() as here:
        found = uvloop.run(bench(here, options.messages))
    show(found)


if __name__ == "__main__":
    main()
