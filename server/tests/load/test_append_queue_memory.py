"""The short form of `just append-queue-memory`, with proportionally smaller limits."""

import pytest

from load.append_queue_memory import memory_after

QUEUES, WEIGHT = 400, 4_000
MESSAGES, CHATS = 20_000, 500
BYTES_PER_KEY, BYTES_PER_QUEUE = 450, 3_000


@pytest.mark.long
async def test_the_memory_of_append_queues_is_bounded_for_any_number_of_messages() -> None:
    held = await memory_after(MESSAGES, CHATS, max_idle=QUEUES, max_weight=WEIGHT)
    assert held.weight <= WEIGHT
    assert held.bytes_ < WEIGHT * BYTES_PER_KEY + QUEUES * BYTES_PER_QUEUE
    unbounded = await memory_after(MESSAGES // 5, CHATS // 5, max_idle=QUEUES, max_weight=10**9)
    assert unbounded.bytes_ > unbounded.weight * 100, "the measurement does not include the log views"
