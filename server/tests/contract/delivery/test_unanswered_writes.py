"""Row writes whose first answer is lost: the client repeats them, and the repeat finds the row as far as it writes it.

A row is written on the condition that there is no gap before the run, so a lost answer hides no gap.
"""

from collections.abc import Collection
from typing import Any

import pytest
from contract.delivery.test_worker_faults import create_history, forget_mark, with_ben
from contract.gateway.test_order import small
from fixtures.chat_list_env import ChatListEnv
from fixtures.delivery_env import DeliveryEnv
from fixtures.gateway_env import WITHIN_S, GatewayEnv
from fixtures.loops import until
from fixtures.use_cases import ANNA, BEN, CLEO, UseCaseEnv

from tidings.kernel.ids import UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import ItemValue
from tidings.platform.dynamo.operations import AccessPattern
from tidings.schema.tables.patterns import delivery as patterns


def lose_answers(patch: pytest.MonkeyPatch, users: Collection[UserId]) -> None:
    honest = DynamoClient.update

    async def update(
        self: DynamoClient, pattern: AccessPattern, key: dict[str, ItemValue], *given: Any, **more: Any
    ) -> Any:
        owner = str(key.get("user_id", "")).partition("#")[2]
        if pattern is patterns.RAISE_ROW and owner in users:
            await honest(self, pattern, key, *given, **more)
        return await honest(self, pattern, key, *given, **more)

    patch.setattr(DynamoClient, "update", update)


async def test_after_a_lost_answer_rows_still_report_missed_entries(
    use_cases: UseCaseEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The repeat of an unanswered write finds its own row."""
    lists = ChatListEnv(use_cases)
    chat = await use_cases.group(BEN, CLEO)
    await lists.deliver()
    for text in ("one", "two", "three"):
        await use_cases.send(chat, ANNA, text)
    entries = lists.committed()
    with monkeypatch.context() as patch:
        lose_answers(patch, {ANNA, CLEO})
        assert await lists.hand(chat, entries[-1:]) == (1, 3)


@pytest.mark.parametrize("has_mark", [True, False])
async def test_with_lost_answers_a_new_worker_finds_unprocessed_entries(
    delivery_env: DeliveryEnv, monkeypatch: pytest.MonkeyPatch, *, has_mark: bool
) -> None:
    """The write of every row is applied, and its answer is lost."""
    here = await with_ben(delivery_env)
    chat = await create_history(delivery_env)
    commits = delivery_env.committed()
    await delivery_env.worker.handle(commits[:2])
    if has_mark:
        delivery_env.use_cases.clock.ahead_ms = 600_000
    else:
        await forget_mark(delivery_env, chat)
    await delivery_env.use_cases.send(chat, ANNA, "at last")
    with monkeypatch.context() as patch:
        lose_answers(patch, {ANNA, BEN, CLEO})
        await delivery_env.new_worker().handle(delivery_env.committed())
    assert sorted(set(here.got(chat, "ben-phone"))) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert await delivery_env.mark(chat) == 9


async def test_lost_answers_do_not_hide_unpublished_entries(
    gateways: GatewayEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unpublished entries, Redis without checkpoints, minutes without events, and the answers to row writes are lost.

    A new worker finds those entries by the gap in the rows.
    """
    chat = await small(gateways)
    here = await gateways.gateway()
    ben = await here.live(BEN)
    first = await gateways.say(chat, ANNA, "delivered")
    await gateways.use_cases.send(chat, ANNA, "never published")
    gateways.use_cases.commits.clear()
    await gateways.redis.write("DEL", gateways.redis.keys.key(chat.tenant, chat.chat, "handled"))
    gateways.use_cases.clock.ahead_ms = 600_000
    gateways.open_worker()
    with monkeypatch.context() as patch:
        lose_answers(patch, {ANNA, BEN})
        last = await gateways.say(chat, ANNA, "at last")
    assert (last, gateways.worker._stats.handled) == (first + 2, 2), (
        "the worker processed the unpublished entry too"
    )
    await until(lambda: last in ben.sequences(chat), WITHIN_S)
    assert ben.sequences(chat) == list(range(1, last + 1))
    tablet = await here.live(BEN, "tablet")
    assert tablet.sequences(chat) == list(range(1, last + 1))
