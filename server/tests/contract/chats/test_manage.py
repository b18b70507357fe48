"""Chats and members on both engines, through the use cases and the log."""

import asyncio

from fixtures.use_cases import ANNA, BEN, CLEO, DORA, RunUseCases, UseCaseEnv, by, code_of

from tidings.chats.commands import ChangeContext, ChatCommands
from tidings.chats.model import Role
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code
from tidings.kernel.ids import ClientKey, UserId, initial_epoch
from tidings.messages.append_queue import AppendDeps
from tidings.messages.model import EntryKind
from tidings.messages.sender import Appender


def test_two_who_write_to_each_other_at_once_meet_in_one_chat(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        asked = [stage.manage.direct(stage.tenant, *pair) for pair in ((ANNA, BEN), (BEN, ANNA)) * 4]
        chats = await asyncio.gather(*asked)
        assert len(set(chats)) == 1
        assert await stage.kinds(chats[0]) == [EntryKind.CREATE]
        assert (await stage.send(chats[0], BEN)).sequence == 2

    play(scene)


def _spent(stage: UseCaseEnv) -> dict[str, float]:
    totals = {"calls": 0.0, "read_units": 0.0, "write_units": 0.0}
    for count in stage.client.ledger:
        if count.name in totals:
            totals[count.name] += count.value
    return totals


def test_asking_for_a_direct_chat_that_exists_costs_one_read(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.manage.direct(stage.tenant, ANNA, BEN)
        before = _spent(stage)
        assert await stage.manage.direct(stage.tenant, BEN, ANNA) == chat
        spent = {name: value - before[name] for name, value in _spent(stage).items()}
        assert spent == {"calls": 1, "read_units": 1, "write_units": 0}

    play(scene)


def test_a_group_is_made_once_however_often_it_is_asked_for(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        caller = by(ANNA, "make")
        first = await stage.manage.group(stage.tenant, caller, "us", [BEN])
        assert await stage.manage.group(stage.tenant, caller, "us", [BEN]) == first
        assert await stage.kinds(first) == [EntryKind.CREATE]
        assert (
            await code_of(stage.manage.group(stage.tenant, caller, "them", [BEN]))
            is Code.IDEMPOTENCY_CONFLICT
        )

    play(scene)


def test_a_large_group_is_made_in_chunks(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        many = [UserId(f"u{n}") for n in range(220)]
        chat = await stage.group(*many)
        row = await stage.rows.chat(chat)
        assert row is not None
        assert row.member_count == 221
        assert await stage.kinds(chat) == [EntryKind.CREATE, EntryKind.JOIN, EntryKind.JOIN]
        last = await stage.rows.membership(chat, many[-1])
        assert last is not None
        assert last.intervals[-1].joined == 2
        assert (await stage.send(chat, many[-1], after=3)).sequence == 4

    play(scene)


def test_a_group_has_a_limit(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.group(BEN)
        too_many = [UserId(f"u{n}") for n in range(249)]
        assert await code_of(stage.manage.add(chat, by(ANNA), too_many)) is Code.CHAT_FULL

    play(scene)


def test_a_member_who_left_may_not_send_and_one_who_came_back_may(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.group(BEN, CLEO)
        await stage.send(chat, BEN)
        await stage.manage.remove(chat, by(BEN), BEN)
        assert await code_of(stage.send(chat, BEN)) is Code.NOT_A_MEMBER
        await stage.manage.add(chat, by(ANNA), [BEN])
        assert await code_of(stage.send(chat, BEN, after=3)) is Code.NOT_A_MEMBER
        await stage.send(chat, BEN, after=4)
        row = await stage.rows.membership(chat, BEN)
        assert row is not None
        assert [tuple(i) for i in row.intervals] == [(0, 3), (3, None)]
        assert await stage.kinds(chat) == [
            EntryKind.CREATE,
            EntryKind.MESSAGE,
            EntryKind.LEAVE,
            EntryKind.JOIN,
            EntryKind.MESSAGE,
        ]

    play(scene)


def test_nobody_comes_back_more_often_than_a_row_can_tell(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.group(BEN)
        for _ in range(7):
            await stage.manage.remove(chat, by(ANNA), BEN)
            await stage.manage.add(chat, by(ANNA), [BEN])
        await stage.manage.remove(chat, by(ANNA), BEN)
        assert await code_of(stage.manage.add(chat, by(ANNA), [BEN])) is Code.REJOIN_LIMIT_REACHED

    play(scene)


def test_who_may_not_is_refused_and_nothing_is_written(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.group(BEN, CLEO)
        manage = stage.manage
        assert await code_of(manage.add(chat, by(BEN), [DORA])) is Code.FORBIDDEN
        assert await code_of(manage.remove(chat, by(BEN), CLEO)) is Code.FORBIDDEN
        assert await code_of(manage.remove(chat, by(BEN), ANNA)) is Code.FORBIDDEN
        assert await code_of(manage.rename(chat, by(BEN), "mine")) is Code.FORBIDDEN
        assert await code_of(manage.rename(chat, by(DORA), "mine")) is Code.CHAT_NOT_FOUND
        assert await code_of(manage.add(chat, by(DORA), [BEN])) is Code.CHAT_NOT_FOUND
        assert await code_of(manage.remove(chat, by(ANNA), ANNA)) is Code.FORBIDDEN
        assert await stage.kinds(chat) == [EntryKind.CREATE]

    play(scene)


def test_roles_and_the_handing_over_of_a_group(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.group(BEN, CLEO)
        await stage.manage.change_role(chat, by(ANNA), BEN, Role.ADMIN)
        await stage.manage.add(chat, by(BEN), [DORA])
        assert await code_of(stage.manage.change_role(chat, by(BEN), DORA, Role.ADMIN)) is Code.FORBIDDEN
        await stage.manage.transfer(chat, by(ANNA), BEN)
        await stage.manage.remove(chat, by(ANNA), ANNA)
        owner = await stage.rows.membership(chat, BEN)
        assert owner is not None
        assert owner.role is Role.OWNER
        assert await code_of(stage.manage.change_role(chat, by(BEN), ANNA, Role.ADMIN)) is Code.NOT_A_MEMBER

    play(scene)


def test_renaming_is_an_entry_and_a_row(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.group()
        await stage.manage.rename(chat, by(ANNA), "new")
        row = await stage.rows.chat(chat)
        newest = await stage.log.newest(chat)
        assert row is not None
        assert newest is not None
        assert (row.name, newest.kind, newest.name) == ("new", EntryKind.RENAME, "new")

    play(scene)


def test_two_who_add_at_once_both_succeed_and_the_count_is_right(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.group(BEN)
        other = ChatCommands(
            stage.rows,
            Appender(AppendDeps(stage.log, stage.rows.member_status, SystemClock(), epoch=initial_epoch)),
        )
        adding = [
            manage.add(chat, by(ANNA), [UserId(f"{name}{n}")])
            for n in range(3)
            for name, manage in (("x", stage.manage), ("y", other))
        ]
        await asyncio.gather(*adding)
        row = await stage.rows.chat(chat)
        assert row is not None
        assert row.member_count == 8
        assert await stage.kinds(chat) == [EntryKind.CREATE] + [EntryKind.JOIN] * 6

    play(scene)


def test_a_block_silences_both_and_is_fenced_by_the_log(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.manage.direct(stage.tenant, ANNA, BEN)
        await stage.send(chat, BEN)
        await stage.manage.block(stage.tenant, by(ANNA), BEN)
        assert await code_of(stage.send(chat, BEN)) is Code.BLOCKED
        assert await code_of(stage.send(chat, ANNA)) is Code.BLOCKED
        await stage.manage.block(stage.tenant, by(ANNA), BEN, is_blocked=False)
        assert await code_of(stage.send(chat, BEN, after=3)) is Code.BLOCKED, (
            "his try from before stays refused"
        )
        await stage.send(chat, BEN, after=4)
        assert await stage.kinds(chat) == [
            EntryKind.CREATE,
            EntryKind.MESSAGE,
            EntryKind.BLOCK,
            EntryKind.BLOCK,
            EntryKind.MESSAGE,
        ]

    play(scene)


def test_a_role_that_is_given_back_does_not_let_in_what_was_refused_without_it(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.group(BEN)
        for role in (Role.ADMIN, Role.MEMBER, Role.ADMIN):
            await stage.manage.change_role(chat, by(ANNA), BEN, role)
        waiting = ChangeContext(BEN, ClientKey("waiting"), after=3)
        assert await code_of(stage.manage.rename(chat, waiting, "mine")) is Code.FORBIDDEN
        await stage.manage.rename(chat, ChangeContext(BEN, ClientKey("anew"), after=4), "ours")
        await stage.send(chat, BEN, after=1)

    play(scene)


def test_a_stranger_who_is_blocked_can_not_begin_a_chat(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        await stage.manage.block(stage.tenant, by(ANNA), BEN)
        assert await code_of(stage.manage.direct(stage.tenant, BEN, ANNA)) is Code.BLOCKED
        await stage.manage.block(stage.tenant, by(ANNA), BEN, is_blocked=False)
        chat = await stage.manage.direct(stage.tenant, BEN, ANNA)
        assert await stage.kinds(chat) == [EntryKind.CREATE]

    play(scene)
