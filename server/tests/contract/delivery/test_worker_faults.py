"""What a worker does when things come twice, late, in another order or not at all, and when it is cut off itself."""

import asyncio

import pytest
from fixtures.delivery_env import DeliveryEnv, FakeGateway, RunDelivery
from fixtures.use_cases import ANNA, BEN, CLEO, asked, by

from tidings.connections.model import GatewayId
from tidings.delivery.model import ChatRow
from tidings.delivery.worker import ChatEntries
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.sender import Content

STEPS = [
    *(
        "gap_filled",
        "rows_written",
        "looked_up",
        "pushed",
        "pending_put",
        "looked_up_again",
        "rung",
        "marked",
    ),
]


async def a_story(office: DeliveryEnv) -> ChatKey:
    """BEN is connected, CLEO is not."""
    stage = office.stage
    chat = await stage.group(BEN, CLEO)
    await stage.send(chat, ANNA, "two")
    said = await stage.send(chat, BEN, "three")
    await stage.change.edit(asked(chat, BEN, said.sequence), Content(text="three, edited"))
    await stage.change.redact(asked(chat, BEN, said.sequence))
    await stage.send(chat, ANNA, "six")
    await stage.manage.remove(chat, by(ANNA), CLEO)
    await stage.send(chat, ANNA, "eight")
    return chat


async def rows(office: DeliveryEnv, chat: ChatKey) -> list[ChatRow]:
    return [await office.lists.row(chat, user) for user in (ANNA, BEN, CLEO)]


async def shape(office: DeliveryEnv, chat: ChatKey) -> list[object]:
    """Rows but for what is sealed and when, and the queue."""
    found: list[object] = []
    for row in await rows(office, chat):
        known = row.known
        shown = known.shown and known.shown.rank
        marks = (known.head, known.own, known.joined and known.joined[:2], known.removed)
        found.append((marks, shown, known.is_large))
    return [*found, [each.entry.sequence for each in await office.queue(CLEO) if each.chat == chat]]


async def cut_off_at(office: DeliveryEnv, step: str, news: list[ChatEntries]) -> None:
    """A worker stands at a step and is killed there."""
    reached = asyncio.Event()

    async def stand() -> None:
        reached.set()
        await asyncio.Event().wait()

    office.hooks.at_step = {f"worker.{step}": stand}
    task = asyncio.create_task(office.new_worker().handle(news))
    await asyncio.wait_for(reached.wait(), 60)
    task.cancel()
    await asyncio.wait([task])
    office.hooks.at_step = {}


async def with_ben(office: DeliveryEnv, name: str = "gateway-1") -> FakeGateway:
    here = await office.gateway(name)
    await office.comes_in(BEN, here.id)
    return here


@pytest.mark.parametrize("step", STEPS)
def test_killed_between_any_two_steps_another_worker_makes_it_whole(work: RunDelivery, step: str) -> None:
    async def day(office: DeliveryEnv) -> None:
        here = await with_ben(office)
        once = await a_story(office)
        await office.deliver()
        expected = await shape(office, once)
        chat = await a_story(office)
        news = office.committed()
        await cut_off_at(office, step, news)
        await office.new_worker().handle(news)
        assert await shape(office, chat) == expected
        got = here.got(chat, "ben-phone")
        assert got[-8:] == [1, 2, 3, 4, 5, 6, 7, 8]
        assert got in ([*range(1, 9)], [*range(1, 9)] * 2)
        assert await office.mark(chat) == 8
        assert (chat, CLEO, [2, 6]) in office.away.of

    work(day)


def test_what_comes_again_to_who_has_done_it_costs_nothing_and_restores_a_lost_mark(
    work: RunDelivery,
) -> None:
    async def day(office: DeliveryEnv) -> None:
        here = await with_ben(office)
        chat = await a_story(office)
        news = office.committed()
        await office.worker.handle(news)
        calls, heard = dict(_calls(office)), len(here.payloads)
        await forget_mark(office, chat)
        await office.worker.handle(news[2:4])
        assert await office.mark(chat) == 8
        await office.new_worker().handle(news)
        assert dict(_calls(office)) == calls
        assert len(here.payloads) == heard

    work(day)


def _calls(office: DeliveryEnv) -> list[tuple[str, float]]:
    return [(each.pattern, each.value) for each in office.stage.client.ledger if each.name == "calls"]


def test_what_lies_before_and_was_not_handled_is_read_from_the_log_and_handled_first(
    work: RunDelivery,
) -> None:
    async def day(office: DeliveryEnv) -> None:
        here = await with_ben(office)
        chat = await a_story(office)
        news = office.committed()
        await office.worker.handle(news[:1])
        await office.worker.handle([news[7], news[3]])
        assert here.got(chat, "ben-phone") == [1, 2, 3, 4, 5, 6, 7, 8]
        assert await office.mark(chat) == 8
        assert [each.entry.sequence for each in await office.queue(CLEO)] == [2, 6]
        assert await office.lists.unread(chat, BEN) == 2

    work(day)


def test_a_worker_that_knows_nothing_sees_by_rows_and_marks_what_was_left_out(work: RunDelivery) -> None:
    """The second half alone reaches a new worker: once with a mark of the first, once with Redis emptied."""

    async def day(office: DeliveryEnv) -> None:
        here = await with_ben(office)
        for is_emptied in (False, True):
            chat = await a_story(office)
            news = office.committed()
            if not is_emptied:
                await office.worker.handle(news[:2])
            await office.new_worker().handle(news[5:])
            assert here.got(chat, "ben-phone") == [1, 2, 3, 4, 5, 6, 7, 8]
            assert await office.mark(chat) == 8
            assert await office.lists.unread(chat, BEN) == 2

    work(day)


def test_a_mark_that_stays_behind_has_what_lies_between_handled_again(work: RunDelivery) -> None:
    """Rows say that all is well, the mark does not: somebody wrote rows and died before he pushed."""

    async def day(office: DeliveryEnv) -> None:
        here = await with_ben(office)
        chat = await a_story(office)
        news = office.committed()
        await office.worker.handle(news[:1])
        second = office.new_worker()
        await second.handle(news[:1])
        await cut_off_at(office, "rows_written", news[1:5])
        await second.handle(news[5:])
        assert here.got(chat, "ben-phone") == [1, 2, 3, 4, 5, 6, 7, 8]
        assert await office.mark(chat) == 8

    work(day)


def test_without_redis_the_truth_is_written_and_the_rest_comes_with_the_next_entry(work: RunDelivery) -> None:
    async def day(office: DeliveryEnv) -> None:
        here = await with_ben(office)
        chat = await a_story(office)
        news = office.committed()
        await office.worker.handle(news[:2])
        office.is_cut = True
        await office.worker.handle(news[2:4])
        await office.worker.handle(news[4:7])
        assert [row.known.head and row.known.head.sequence for row in await rows(office, chat)] == [7, 7, 7]
        assert [each.entry.sequence for each in await office.queue(CLEO)] == [2]
        assert office.counts.deferred == 5
        office.is_cut = False
        assert (await office.mark(chat), here.got(chat, "ben-phone")) == (2, [1, 2])
        await office.worker.handle(news[7:])
        # what was late before what follows it: who was taken out by it may listen to what follows
        assert here.got(chat, "ben-phone") == [1, 2, 3, 4, 5, 6, 7, 8]
        assert await office.mark(chat) == 8
        assert [each.entry.sequence for each in await office.queue(CLEO)] == [2, 6]

    work(day)


def test_a_redis_that_comes_back_empty_takes_nothing_from_who_remembers(work: RunDelivery) -> None:
    """It was away, then it forgot: the next entry alone would be marked as if all before it had been handled."""

    async def day(office: DeliveryEnv) -> None:
        here = await with_ben(office)
        chat = await a_story(office)
        news = office.committed()
        await office.worker.handle(news[:2])
        office.is_cut = True
        await office.worker.handle(news[2:7])
        office.is_cut = False
        await forget_mark(office, chat)
        await office.worker.handle(news[7:])
        assert sorted(set(here.got(chat, "ben-phone"))) == [1, 2, 3, 4, 5, 6, 7, 8]
        assert [each.entry.sequence for each in await office.queue(CLEO)] == [2, 6]

    work(day)


def test_nor_is_anything_left_out_of_a_chat_that_was_late_from_its_beginning(work: RunDelivery) -> None:
    """No mark, and no memory of one. Who was taken out meanwhile would never have heard of it."""

    async def day(office: DeliveryEnv) -> None:
        here = await with_ben(office)
        chat = await a_story(office)
        news = office.committed()
        office.is_cut = True
        await office.worker.handle(news[:3])
        await office.worker.handle(news[3:7])
        office.is_cut = False
        await office.worker.handle(news[7:])
        assert sorted(set(here.got(chat, "ben-phone"))) == [1, 2, 3, 4, 5, 6, 7, 8]
        assert [each.entry.sequence for each in await office.queue(CLEO)] == [2, 6]
        assert await office.mark(chat) == 8

    work(day)


def test_who_comes_in_before_entries_are_pushed_again_gets_his_leave_with_them(work: RunDelivery) -> None:
    """His device knows nothing of the chat, and begins with what is pushed; the leave was pushed before it came."""

    async def day(office: DeliveryEnv) -> None:
        here = await with_ben(office)
        stage = office.stage
        chat = await stage.group(BEN, CLEO)
        await stage.manage.remove(chat, by(ANNA), CLEO)
        news = office.committed()
        await office.worker.handle(news[:1])
        await forget_mark(office, chat)
        await office.marks.advance(chat, 0, 0)

        async def come_in() -> None:
            office.hooks.at_step = {}
            await office.comes_in(CLEO, here.id)

        office.hooks.at_step = {"worker.pushed": come_in}
        await office.worker.handle(news[1:])
        assert here.got(chat, "cleo-phone") == [1, 2]
        assert await office.mark(chat) == 2

    work(day)


def test_a_mark_that_fell_back_is_brought_up_again(work: RunDelivery) -> None:
    """As after a fail-over to a Redis that had not heard of the newest."""

    async def day(office: DeliveryEnv) -> None:
        here = await with_ben(office)
        chat = await a_story(office)
        news = office.committed()
        await office.worker.handle(news[:7])
        await forget_mark(office, chat)
        await office.marks.advance(chat, 1, 3)
        await office.worker.handle(news[7:])
        assert await office.mark(chat) == 8
        assert here.got(chat, "ben-phone")[-6:] == [8, 4, 5, 6, 7, 8]

    work(day)


async def forget_mark(office: DeliveryEnv, chat: ChatKey) -> None:
    await office.redis.write("DEL", office.redis.keys.key(chat.tenant, chat.chat, "handled"))


def test_what_redis_lost_comes_again_by_the_relay_and_is_pushed_then(work: RunDelivery) -> None:
    async def day(office: DeliveryEnv) -> None:
        here = await with_ben(office)
        chat = await a_story(office)
        news = office.committed()
        office.is_cut = True
        await office.worker.handle(news)
        office.is_cut = False
        assert here.got(chat, "ben-phone") == []
        assert await office.mark(chat) == 0
        for each in news:
            await office.worker.handle([each])
        assert here.got(chat, "ben-phone") == [1, 2, 3, 4, 5, 6, 7, 8]
        assert await office.mark(chat) == 8

    work(day)


def crowd(count: int, first: int = 0) -> list[UserId]:
    return [UserId(f"u{n}") for n in range(first, first + count)]


def test_a_chat_that_becomes_large_says_so_to_everybody_and_goes_over_its_channel_then(
    work: RunDelivery,
) -> None:
    async def day(office: DeliveryEnv) -> None:
        here = await with_ben(office)
        await office.comes_in(UserId("late"), here.id)
        stage, channel = office.stage, FakeGateway("channel")
        chat = await stage.group(BEN, *crowd(90))
        await office.deliver()
        listening = await office.line.subscribe_chat(chat, channel.hear)
        await stage.send(chat, ANNA, "two")
        await stage.manage.add(chat, by(ANNA), crowd(15, 90))
        await stage.send(chat, ANNA, "four", after=3)
        await stage.manage.add(chat, by(ANNA), [UserId("late")])
        await stage.send(chat, ANNA, "six", after=5)
        await stage.manage.remove(chat, by(ANNA), BEN)
        await stage.send(chat, ANNA, "eight", after=7)
        before = office.counts.queued
        await office.deliver()
        assert here.got(chat, "ben-phone") == [1, 2, 3, 7]
        assert [push.is_large for push in here.pushes if push.key == chat] == [False, True, True]
        assert here.got(chat, "late-phone") == [5, 6, 7, 8]
        assert [e.sequence for push in channel.pushes for e in push.entries] == [4, 5, 6, 7, 8]
        assert all(push.parts == () and push.is_large for push in channel.pushes)
        assert {sequence for _, _, each in office.away.of for sequence in each} == {2}
        assert office.counts.queued - before == 90, (
            "message 2, for all who are not connected; none of the large chat's"
        )
        assert await office.mark(chat) == 8
        listening.close()

    work(day)


def test_gateways_that_have_no_route_to_give_hear_nothing(work: RunDelivery) -> None:
    async def day(office: DeliveryEnv) -> None:
        here, idle = await with_ben(office), await office.gateway("gateway-2")
        await a_story(office)
        await office.deliver()
        assert here.payloads
        assert idle.payloads == []
        assert idle.id != GatewayId("gateway-1")

    work(day)
