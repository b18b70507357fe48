"""Row writes whose first answer is lost: the client repeats them, and the repeat finds the row as far as it writes it.

Such a row does not tell what it had missed. The other rows, the mark and the look back do, and at last the devices.
"""

from collections.abc import Collection
from typing import Any

import pytest
from contract.delivery.test_worker_faults import a_story, forget_mark, with_ben
from contract.gateway.test_order import small
from fixtures.chat_list_env import ChatListEnv
from fixtures.delivery_env import DeliveryEnv, RunDelivery
from fixtures.gateway_env import WITHIN_S, GatewayEnv, RunGateways
from fixtures.loops import until
from fixtures.use_cases import ANNA, BEN, CLEO, RunUseCases, UseCaseEnv

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


def test_what_was_missed_is_told_by_the_other_rows_where_an_answer_was_lost(
    play: RunUseCases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The repeat of an unanswered write finds its own row, which says nothing of what it had before."""

    async def scene(stage: UseCaseEnv) -> None:
        lists = ChatListEnv(stage)
        chat = await stage.group(BEN, CLEO)
        await lists.deliver()
        for text in ("one", "two", "three"):
            await stage.send(chat, ANNA, text)
        entries = lists.committed()
        with monkeypatch.context() as patch:
            lose_answers(patch, {ANNA, CLEO})
            assert await lists.hand(chat, entries[-1:]) == (1, 3)

    play(scene)


@pytest.mark.parametrize("has_mark", [True, False])
def test_an_heir_that_gets_no_answer_from_any_row_finds_by_mark_or_time_what_was_never_handled(
    work: RunDelivery, monkeypatch: pytest.MonkeyPatch, *, has_mark: bool
) -> None:
    """Every row's write is applied and unanswered, so no row tells what it had before."""

    async def day(office: DeliveryEnv) -> None:
        here = await with_ben(office)
        chat = await a_story(office)
        news = office.committed()
        await office.worker.handle(news[:2])
        if has_mark:
            office.stage.clock.ahead_ms = 600_000
        else:
            await forget_mark(office, chat)
        await office.stage.send(chat, ANNA, "at last")
        with monkeypatch.context() as patch:
            lose_answers(patch, {ANNA, BEN, CLEO})
            await office.new_worker().handle(office.committed())
        assert sorted(set(here.got(chat, "ben-phone"))) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
        assert await office.mark(chat) == 9

    work(day)


def test_devices_get_what_no_mark_no_row_and_no_clock_showed_the_worker(
    play_post: RunGateways, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries that nobody published, a Redis without marks, minutes of silence, and no row write answered.

    A worker that was just started can't know of those entries. A device finds them by the hole before the next one,
    or by its row when it resumes.
    """

    async def scene(post: GatewayEnv) -> None:
        chat = await small(post)
        here = await post.gateway()
        ben = await here.live(BEN)
        first = await post.say(chat, ANNA, "delivered")
        await post.stage.send(chat, ANNA, "never published")
        post.stage.told.clear()
        await post.redis.write("DEL", post.redis.keys.key(chat.tenant, chat.chat, "handled"))
        post.stage.clock.ahead_ms = 600_000
        post.open_worker()
        with monkeypatch.context() as patch:
            lose_answers(patch, {ANNA, BEN})
            last = await post.say(chat, ANNA, "at last")
        assert (last, post.worker._stats.handled) == (first + 2, 1), "the worker handled the last entry alone"
        await until(lambda: last in ben.sequences(chat), WITHIN_S)
        assert ben.sequences(chat) == list(range(1, last + 1))
        tablet = await here.live(BEN, "tablet")
        assert tablet.sequences(chat) == list(range(1, last + 1))

    play_post(scene)
