"""Measure the memory of a process's append queues after many messages.

Uses the real append queues on a log in memory that stores entries as bytes. The result is the memory freed with the
queues, so the log is not included.
"""

import argparse
import asyncio
import gc
import json
import random
import tracemalloc
from typing import NamedTuple

from fixtures.append_queue import ANNA, BEN, entry, proposal
from fixtures.memory_log import MemoryMembers
from fixtures.packed_log import PackedLog

from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import ChatId, ChatKey, TenantId, initial_epoch
from tidings.messages.model import EntryKind
from tidings.messages.ports import AppendDeps
from tidings.messages.sender import MAX_CACHED_WEIGHT, MAX_IDLE_QUEUES, Appender


class MemoryUse(NamedTuple):
    """Memory and weight of the append queues at the end."""

    bytes_: int
    weight: int


async def memory_after(messages: int, chats: int, *, max_idle: int, max_weight: int) -> MemoryUse:
    """Send messages to random chats, and measure the memory of the append queues."""
    log, chance = PackedLog(), random.Random(1)
    deps = AppendDeps(log, MemoryMembers({ANNA, BEN}).member_status, SystemClock(), epoch=initial_epoch)
    heads = [1] * chats
    for number in range(chats):
        await log.append(_chat(number), [entry(1, EntryKind.CREATE)])
    tracemalloc.start()
    try:
        appends = Appender(deps, max_idle, max_weight)
        for number in range(messages):
            chat = chance.randrange(chats)
            sent = proposal(
                f"{number:026}", f"{number:032}", sender=(ANNA, BEN)[number % 2], after=heads[chat]
            )
            heads[chat] = (await appends.append(_chat(chat), sent)).sequence
        weight = appends.weight
        before, _ = tracemalloc.get_traced_memory()
        del appends
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return MemoryUse(before - after, weight)


def _chat(number: int) -> ChatKey:
    return ChatKey(TenantId("acme"), ChatId(f"{number:026}"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--chats", type=int, default=60_000)
    args = parser.parse_args()
    held = asyncio.run(
        memory_after(args.messages, args.chats, max_idle=MAX_IDLE_QUEUES, max_weight=MAX_CACHED_WEIGHT)
    )
    print(json.dumps({"messages": args.messages, "held_mib": round(held.bytes_ / 2**20, 1)} | held._asdict()))


if __name__ == "__main__":
    main()
