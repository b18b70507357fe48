"""A worker that follows one which has died, and knows only what Redis and the rows tell it."""

import pytest
from contract.delivery.test_worker_faults import a_story, forget_mark, with_ben
from fixtures.delivery_env import DeliveryEnv, RunDelivery
from fixtures.use_cases import ANNA, CLEO


@pytest.mark.parametrize("handled", [0, 2])
def test_an_heir_begins_where_the_relay_has_begun_a_mark(work: RunDelivery, handled: int) -> None:
    """The one before wrote rows without Redis, and died; no mark was left. CLEO's leave is hers alone to miss."""

    async def day(office: DeliveryEnv) -> None:
        here = await with_ben(office)
        await office.comes_in(CLEO, here.id)
        chat = await a_story(office)
        news = office.committed()
        await office.worker.handle(news[:handled])
        office.is_cut = True
        await office.worker.handle(news[handled:7])
        office.is_cut = False
        await forget_mark(office, chat)
        await office.marks.advance(chat, handled, handled)
        await office.new_worker().handle(news[7:])
        assert here.got(chat, "cleo-phone") == [1, 2, 3, 4, 5, 6, 7]
        assert await office.mark(chat) == 8

    work(day)


def test_an_heir_that_finds_no_mark_begins_with_what_came_shortly_before(work: RunDelivery) -> None:
    """Nobody has begun a mark yet: the relay looks every few seconds, and the next message may be quicker."""

    async def day(office: DeliveryEnv) -> None:
        here = await with_ben(office)
        await office.comes_in(CLEO, here.id)
        chat = await a_story(office)
        news = office.committed()
        office.is_cut = True
        await office.worker.handle(news[:7])
        office.is_cut = False
        await forget_mark(office, chat)
        await office.new_worker().handle(news[7:])
        assert here.got(chat, "cleo-phone") == [1, 2, 3, 4, 5, 6, 7]
        assert here.got(chat, "ben-phone") == [1, 2, 3, 4, 5, 6, 7, 8]
        assert await office.mark(chat) == 8

    work(day)


def test_an_heir_that_finds_no_mark_begins_before_a_burst(work: RunDelivery) -> None:
    """The worker that died left more late than one look back reads."""

    async def day(office: DeliveryEnv) -> None:
        here = await with_ben(office)
        chat = await a_story(office)
        last = 8
        for _ in range(45):
            last = (await office.stage.send(chat, ANNA)).sequence
        news = office.committed()
        office.is_cut = True
        await office.worker.handle(news[:-1])
        office.is_cut = False
        await forget_mark(office, chat)
        await office.new_worker().handle(news[-1:])
        assert here.got(chat, "ben-phone") == list(range(1, last + 1))
        assert await office.mark(chat) == last

    work(day)


def test_a_chat_that_was_silent_for_long_and_lost_its_mark_is_not_delivered_again(work: RunDelivery) -> None:
    async def day(office: DeliveryEnv) -> None:
        here = await with_ben(office)
        chat = await a_story(office)
        await office.worker.handle(office.committed())
        await forget_mark(office, chat)
        got = here.got(chat, "ben-phone")
        office.stage.clock.ahead_ms = 600_000
        await office.stage.send(chat, ANNA, "after a while")
        await office.new_worker().handle(office.committed())
        assert here.got(chat, "ben-phone") == [*got, got[-1] + 1]

    work(day)


def test_an_heir_that_could_not_ask_for_the_mark_pushes_nothing_before_what_was_left_late(
    work: RunDelivery,
) -> None:
    """Redis answers again a moment later, so the push would go through."""

    async def day(office: DeliveryEnv) -> None:
        here = await with_ben(office)
        chat = await a_story(office)
        news = office.committed()
        await office.worker.handle(news[:2])
        office.is_cut = True
        await office.worker.handle(news[2:7])

        async def answer_again() -> None:
            office.is_cut = False

        office.hooks.at_step = {"worker.rows_written": answer_again}
        heir = office.new_worker()
        await heir.handle(news[7:])
        assert (here.got(chat, "ben-phone"), await office.mark(chat)) == ([1, 2], 2)
        await heir.handle(news[7:])
        assert (here.got(chat, "ben-phone"), await office.mark(chat)) == ([1, 2, 3, 4, 5, 6, 7, 8], 8)

    work(day)
