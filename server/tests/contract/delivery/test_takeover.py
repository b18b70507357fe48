"""A worker takes over from one that died, with only the data in Redis and the chat rows."""

import pytest
from contract.delivery.test_worker_faults import create_history, forget_mark, with_ben
from fixtures.delivery_env import DeliveryEnv
from fixtures.use_cases import ANNA, CLEO


@pytest.mark.parametrize("handled", [0, 2])
async def test_a_new_worker_starts_at_the_checkpoint_that_the_relay_created(
    delivery_env: DeliveryEnv, handled: int
) -> None:
    """The previous worker wrote rows without Redis and died without a checkpoint. Only CLEO could miss her leave."""
    here = await with_ben(delivery_env)
    await delivery_env.comes_in(CLEO, here.id)
    chat = await create_history(delivery_env)
    commits = delivery_env.committed()
    await delivery_env.worker.handle(commits[:handled])
    delivery_env.is_cut = True
    await delivery_env.worker.handle(commits[handled:7])
    delivery_env.is_cut = False
    await forget_mark(delivery_env, chat)
    await delivery_env.marks.advance(chat, handled, handled)
    await delivery_env.new_worker().handle(commits[7:])
    assert here.got(chat, "cleo-phone") == [1, 2, 3, 4, 5, 6, 7]
    assert await delivery_env.mark(chat) == 8


async def test_a_new_worker_without_a_checkpoint_starts_with_recent_entries(
    delivery_env: DeliveryEnv,
) -> None:
    """The relay has not created a checkpoint yet: it checks every few seconds, and the next message may be faster."""
    here = await with_ben(delivery_env)
    await delivery_env.comes_in(CLEO, here.id)
    chat = await create_history(delivery_env)
    commits = delivery_env.committed()
    delivery_env.is_cut = True
    await delivery_env.worker.handle(commits[:7])
    delivery_env.is_cut = False
    await forget_mark(delivery_env, chat)
    await delivery_env.new_worker().handle(commits[7:])
    assert here.got(chat, "cleo-phone") == [1, 2, 3, 4, 5, 6, 7]
    assert here.got(chat, "ben-phone") == [1, 2, 3, 4, 5, 6, 7, 8]
    assert await delivery_env.mark(chat) == 8


async def test_a_new_worker_without_a_checkpoint_starts_before_a_burst(delivery_env: DeliveryEnv) -> None:
    """The dead worker deferred more entries than one look-back reads."""
    here = await with_ben(delivery_env)
    chat = await create_history(delivery_env)
    last = 8
    for _ in range(45):
        last = (await delivery_env.use_cases.send(chat, ANNA)).sequence
    commits = delivery_env.committed()
    delivery_env.is_cut = True
    await delivery_env.worker.handle(commits[:-1])
    delivery_env.is_cut = False
    await forget_mark(delivery_env, chat)
    await delivery_env.new_worker().handle(commits[-1:])
    assert here.got(chat, "ben-phone") == list(range(1, last + 1))
    assert await delivery_env.mark(chat) == last


async def test_an_idle_chat_without_a_checkpoint_is_not_delivered_again(
    delivery_env: DeliveryEnv,
) -> None:
    here = await with_ben(delivery_env)
    chat = await create_history(delivery_env)
    await delivery_env.worker.handle(delivery_env.committed())
    await forget_mark(delivery_env, chat)
    got = here.got(chat, "ben-phone")
    delivery_env.use_cases.clock.ahead_ms = 600_000
    await delivery_env.use_cases.send(chat, ANNA, "after a while")
    await delivery_env.new_worker().handle(delivery_env.committed())
    assert here.got(chat, "ben-phone") == [*got, got[-1] + 1]


async def test_a_new_worker_that_cannot_read_the_checkpoint_pushes_deferred_entries_first(
    delivery_env: DeliveryEnv,
) -> None:
    """Redis answers again shortly after, so the push would succeed."""
    here = await with_ben(delivery_env)
    chat = await create_history(delivery_env)
    commits = delivery_env.committed()
    await delivery_env.worker.handle(commits[:2])
    delivery_env.is_cut = True
    await delivery_env.worker.handle(commits[2:7])

    async def answer_again() -> None:
        delivery_env.is_cut = False

    delivery_env.hooks.at_step = {"worker.rows_written": answer_again}
    successor = delivery_env.new_worker()
    await successor.handle(commits[7:])
    assert (here.got(chat, "ben-phone"), await delivery_env.mark(chat)) == ([1, 2], 2)
    await successor.handle(commits[7:])
    assert (here.got(chat, "ben-phone"), await delivery_env.mark(chat)) == ([1, 2, 3, 4, 5, 6, 7, 8], 8)
