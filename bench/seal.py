"""Compare content keys of users with keys of the tenant: CPU of a direct message, and read units of keys.

The sealing work of one message is measured with both kinds of keys, in alternating rounds of one process, and divided
by the CPU that all processes use for a direct message, measured in the same run. The units are those of the access
patterns of `user_keys`: of running processes for a warm chat, and of a process without cached keys for a page.
"""

import argparse
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence

import uvloop
from fixtures.memory_keys import MemoryKeyStore, MemoryKms, MemoryUserKeyStore
from fixtures.use_cases import ANNA, UseCaseEnv

from bench.e2e import Installation, installation, pairs_of, peak, steady
from bench.report import print_figures, print_table
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.schema.tables.patterns.accounts import CONFIRM_USER_KEYS, READ_USER_KEYS
from tidings.tenants.key_ring import KeyPolicy, KeyRing
from tidings.tenants.user_keys import UserKeyPolicy, UserKeyRing

CHAT = ChatKey(TenantId("acme"), ChatId("01JCQ4Z7N3V5X9B2M8K6T1R0WD"))
BODY = b"x" * 200
PREVIEW = BODY[:100]
GATEWAYS = 2
"""The sender's and the recipient's gateway each open the message once."""
AUTHORS = 50

type Work = Callable[[], Awaitable[object]]


def rings() -> tuple[KeyRing, UserKeyRing]:
    clock = SystemClock()
    tenants = KeyRing(MemoryKeyStore(), MemoryKms(), clock, KeyPolicy())
    return tenants, UserKeyRing(MemoryUserKeyStore(), tenants, clock, UserKeyPolicy())


def message_with_tenant_keys(ring: KeyRing) -> Work:
    """Return the sealing work of a message as it was with keys of the tenant, which also sealed previews."""

    async def work() -> None:
        keys = await ring.of(CHAT.tenant)
        keys.fingerprint(BODY)
        content = keys.seal(CHAT, 5, BODY)
        reading = await ring.to_read(CHAT.tenant, [content])
        reading.unseal(CHAT, 5, content)
        (await ring.of(CHAT.tenant)).seal(CHAT, 5, PREVIEW)
        for _ in range(GATEWAYS):
            (await ring.to_read(CHAT.tenant, [content])).unseal(CHAT, 5, content)

    return work


def message_with_user_keys(ring: UserKeyRing) -> Work:
    async def work() -> None:
        keys = await ring.of(CHAT.tenant, ANNA)
        keys.fingerprint(BODY)
        content = keys.seal(CHAT, 5, BODY)
        reading = await ring.to_read(CHAT.tenant, [(ANNA, content)])
        reading.unseal(CHAT, 5, ANNA, content)
        reading.seal_preview(CHAT, 5, ANNA, PREVIEW)
        for _ in range(GATEWAYS):
            (await ring.to_read(CHAT.tenant, [(ANNA, content)])).unseal(CHAT, 5, ANNA, content)

    return work


async def cpu_us(work: Work, calls: int) -> float:
    began = time.process_time()
    for _ in range(calls):
        await work()
    return (time.process_time() - began) / calls * 1e6


async def sealing_us(rounds: int, calls: int) -> tuple[list[float], list[float]]:
    tenants, users = rings()
    works = message_with_tenant_keys(tenants), message_with_user_keys(users)
    found: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for work, runs in zip(works, found, strict=True):
            runs.append(await cpu_us(work, calls))
    return found


def key_units(here: Installation) -> float:
    """Return the read units of keys over all processes so far."""
    names = (READ_USER_KEYS.name, CONFIRM_USER_KEYS.name)
    lines = (f'dynamo_read_units_total{{pattern="{name}"}}' for name in names)
    return sum(process.metric(line) for line in lines for process in here.processes.values())


async def cold_page_units(use_cases: UseCaseEnv, chat: ChatKey, reader: UserId) -> float:
    """Return the read units of keys for a page of history in a process without cached keys."""
    await use_cases.history.before(chat, reader, None, AUTHORS)
    names = {READ_USER_KEYS.name, CONFIRM_USER_KEYS.name}
    ledger = use_cases.client.ledger
    return sum(each.value for each in ledger if each.pattern in names and each.name == "read_units")


async def bench(here: Installation, options: argparse.Namespace) -> None:
    pairs = await pairs_of(here, options.pairs)
    await steady(here, pairs, options.rate, 3)
    before = key_units(here)
    warm = await steady(here, pairs, options.rate, options.seconds)
    warm_units = (key_units(here) - before) / max(1, warm.tally.sent)
    message_us = (await peak(here, pairs, options.seconds)).ours_us
    tenant_us, user_us = await sealing_us(options.rounds, options.calls)
    async with here.env.use_cases() as use_cases:
        chat = ChatKey(use_cases.tenant, ChatId(pairs[0].chat))
        direct_units = await cold_page_units(use_cases, chat, UserId("anna-0"))
    users = [UserId(f"author-{n}") for n in range(AUTHORS)]
    async with here.env.use_cases() as use_cases:
        group = await use_cases.group(*users)
        for user in users:
            await use_cases.send(group, user)
    async with here.env.use_cases() as use_cases:
        group_units = await cold_page_units(use_cases, group, ANNA)
    report(tenant_us, user_us, message_us)
    extra_us = statistics.median(user_us) - statistics.median(tenant_us)
    print_figures(
        {
            "cpu_overhead": extra_us / message_us,
            "extra_cpu_us": extra_us,
            "message_cpu_us": message_us,
            "extra_units_warm": warm_units,
            "extra_read_units_cold_page": direct_units,
            "read_units_cold_page_50_authors": group_units,
        }
    )


def report(tenant_us: Sequence[float], user_us: Sequence[float], message_us: float) -> None:
    def row(name: str, runs: Sequence[float]) -> tuple[str, str]:
        return name, f"{statistics.median(runs):.1f} ({min(runs):.1f}, {max(runs):.1f})"

    rows = [
        row("sealing of a message, keys of the tenant", tenant_us),
        row("sealing of a message, keys of users", user_us),
        ("direct message, all processes", f"{message_us:.0f}"),
    ]
    print_table(("CPU µs", "median (min, max)"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--rate", type=float, default=60.0, help="messages per second in the steady phase")
    parser.add_argument("--seconds", type=float, default=10.0, help="duration of each phase")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=5_000)
    options = parser.parse_args()
    with installation() as here:
        uvloop.run(bench(here, options))


if __name__ == "__main__":
    main()
