"""Measure the CPU to encrypt, decrypt and fingerprint one message with cached keys."""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from fixtures.memory_keys import MemoryKeyStore

from bench.report import Spread, print_figures, print_table
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.tenants.key_ring import KeyPolicy, KeyRing
from tidings.tenants.kms import FileKms

CHAT = ChatKey(TenantId("acme"), ChatId("01ARZ3NDEKTSV4RRFFQ69G5FAV"))
SEQUENCE = 12_345


def cpu_us(work: Callable[[], object], calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        work()
    return (time.process_time() - start) / calls * 1e6


async def asking_us(ring: KeyRing, calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        await ring.of(CHAT.tenant)
    return (time.process_time() - start) / calls * 1e6


async def measure(given: argparse.Namespace) -> dict[str, Spread]:
    with tempfile.TemporaryDirectory() as directory:
        ring = KeyRing(MemoryKeyStore(), FileKms(Path(directory) / "key"), SystemClock(), KeyPolicy())
        keys = await ring.of(CHAT.tenant)
    body = os.urandom(given.bytes)
    content = keys.seal(CHAT, SEQUENCE, body)
    works: dict[str, Callable[[], object]] = {
        "seal": lambda: keys.seal(CHAT, SEQUENCE, body),
        "fingerprint": lambda: keys.fingerprint(body),
        "unseal": lambda: keys.unseal(CHAT, SEQUENCE, content),
    }
    runs: dict[str, list[float]] = {name: [] for name in (*works, "look up cached keys")}
    for _ in range(given.rounds):
        for name, work in works.items():
            runs[name].append(cpu_us(work, given.calls))
        runs["look up cached keys"].append(await asking_us(ring, given.calls))
    return {name: Spread(tuple(found)) for name, found in runs.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bytes", type=int, default=200)
    parser.add_argument("--calls", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    spreads = asyncio.run(measure(given))
    print_table(
        ["CPU µs", f"median (min, max), {given.bytes} bytes"],
        [(name, f"{s.median:.2f} ({min(s.runs):.2f}, {max(s.runs):.2f})") for name, s in spreads.items()],
    )
    print_figures({name.replace(" ", "_"): spread.median for name, spread in spreads.items()})


if __name__ == "__main__":
    main()
