"""Rows follow the commits of a process by themselves, on both engines."""

import asyncio

from fixtures.lists import Lists
from fixtures.loops import until
from fixtures.stage import ANNA, BEN, Play, Stage, by

from tidings.chats.manage import Manage
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import UserId
from tidings.messages.append import Appends
from tidings.messages.lane import World


def test_a_list_follows_by_itself(play: Play) -> None:
    async def scene(stage: Stage) -> None:
        lists = Lists(stage)
        stage.hear = lists.after_commit
        stage.open_process()
        lists.after_commit.start()
        chat = await stage.group(BEN)
        await asyncio.gather(*(stage.send(chat, ANNA, f"m{n}") for n in range(30)))
        await stage.send(chat, BEN, "keyed", after=None)
        await stage.send(chat, ANNA, "last")
        await until(lambda: lists.after_commit.is_idle)
        assert await lists.text(chat, BEN) == "last"
        assert await lists.unread(chat, BEN) == 1
        assert await lists.unread(chat, ANNA) == 0
        await lists.after_commit.stop()

    play(scene)


def test_what_another_process_committed_and_lost_is_made_up_for(play: Play) -> None:
    async def scene(stage: Stage) -> None:
        lists = Lists(stage)
        stage.hear = lists.after_commit
        dead = Manage(stage.rows, Appends(World(stage.log, stage.rows, SystemClock(), epoch=0)))
        chat = await dead.group(stage.tenant, by(ANNA), "us", [BEN])
        await dead.add(chat, by(ANNA), [UserId("late")])
        stage.open_process()
        lists.after_commit.start()
        await stage.send(chat, ANNA, "alive", after=2)
        await until(lambda: lists.after_commit.is_idle)
        for user in (BEN, UserId("late")):
            assert await lists.text(chat, user) == "alive"
            assert await lists.unread(chat, user) == 1
        await lists.after_commit.stop()

    play(scene)
