"""Chats and members on both engines, through the use cases and the log."""

import asyncio

from fixtures.use_cases import ANNA, BEN, CLEO, DORA, UseCaseEnv, by, code_of

from tidings.chats.commands import ChangeContext, ChatCommands
from tidings.chats.model import Role
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code
from tidings.kernel.ids import ClientKey, UserId, initial_epoch
from tidings.messages.model import EntryKind
from tidings.messages.ports import AppendDeps
from tidings.messages.sender import Appender


async def test_two_users_who_create_a_direct_chat_concurrently_get_the_same_chat(
    use_cases: UseCaseEnv,
) -> None:
    asked = [use_cases.manage.direct(use_cases.tenant, *pair) for pair in ((ANNA, BEN), (BEN, ANNA)) * 4]
    chats = await asyncio.gather(*asked)
    assert len(set(chats)) == 1
    assert await use_cases.kinds(chats[0]) == [EntryKind.CREATE]
    assert (await use_cases.send(chats[0], BEN)).sequence == 2


def _spent(use_cases: UseCaseEnv) -> dict[str, float]:
    totals = {"calls": 0.0, "read_units": 0.0, "write_units": 0.0}
    for count in use_cases.client.ledger:
        if count.name in totals:
            totals[count.name] += count.value
    return totals


async def test_asking_for_a_direct_chat_that_exists_costs_one_read(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    before = _spent(use_cases)
    assert await use_cases.manage.direct(use_cases.tenant, BEN, ANNA) == chat
    spent = {name: value - before[name] for name, value in _spent(use_cases).items()}
    assert spent == {"calls": 1, "read_units": 1, "write_units": 0}


async def test_repeated_requests_create_a_group_once(use_cases: UseCaseEnv) -> None:
    caller = by(ANNA, "make")
    first = await use_cases.manage.group(use_cases.tenant, caller, "us", [BEN])
    assert await use_cases.manage.group(use_cases.tenant, caller, "us", [BEN]) == first
    assert await use_cases.kinds(first) == [EntryKind.CREATE]
    assert (
        await code_of(use_cases.manage.group(use_cases.tenant, caller, "them", [BEN]))
        is Code.IDEMPOTENCY_CONFLICT
    )


async def test_a_large_group_is_made_in_chunks(use_cases: UseCaseEnv) -> None:
    many = [UserId(f"u{n}") for n in range(220)]
    chat = await use_cases.group(*many)
    row = await use_cases.rows.chat(chat)
    assert row is not None
    assert row.member_count == 221
    assert await use_cases.kinds(chat) == [EntryKind.CREATE, EntryKind.JOIN, EntryKind.JOIN]
    last = await use_cases.rows.membership(chat, many[-1])
    assert last is not None
    assert last.intervals[-1].joined == 2
    assert (await use_cases.send(chat, many[-1], after=3)).sequence == 4


async def test_a_group_has_a_limit(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    too_many = [UserId(f"u{n}") for n in range(249)]
    assert await code_of(use_cases.manage.add(chat, by(ANNA), too_many)) is Code.CHAT_FULL


async def test_a_former_member_may_not_send_until_they_rejoin(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN, CLEO)
    await use_cases.send(chat, BEN)
    await use_cases.manage.remove(chat, by(BEN), BEN)
    assert await code_of(use_cases.send(chat, BEN)) is Code.NOT_A_MEMBER
    await use_cases.manage.add(chat, by(ANNA), [BEN])
    assert await code_of(use_cases.send(chat, BEN, after=3)) is Code.NOT_A_MEMBER
    await use_cases.send(chat, BEN, after=4)
    row = await use_cases.rows.membership(chat, BEN)
    assert row is not None
    assert [tuple(i) for i in row.intervals] == [(0, 3), (3, None)]
    assert await use_cases.kinds(chat) == [
        EntryKind.CREATE,
        EntryKind.MESSAGE,
        EntryKind.LEAVE,
        EntryKind.JOIN,
        EntryKind.MESSAGE,
    ]


async def test_a_member_cannot_rejoin_more_often_than_a_row_can_record(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    for _ in range(7):
        await use_cases.manage.remove(chat, by(ANNA), BEN)
        await use_cases.manage.add(chat, by(ANNA), [BEN])
    await use_cases.manage.remove(chat, by(ANNA), BEN)
    assert await code_of(use_cases.manage.add(chat, by(ANNA), [BEN])) is Code.REJOIN_LIMIT_REACHED


async def test_a_forbidden_request_is_rejected_and_writes_nothing(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN, CLEO)
    manage = use_cases.manage
    assert await code_of(manage.add(chat, by(BEN), [DORA])) is Code.FORBIDDEN
    assert await code_of(manage.remove(chat, by(BEN), CLEO)) is Code.FORBIDDEN
    assert await code_of(manage.remove(chat, by(BEN), ANNA)) is Code.FORBIDDEN
    assert await code_of(manage.rename(chat, by(BEN), "mine")) is Code.FORBIDDEN
    assert await code_of(manage.rename(chat, by(DORA), "mine")) is Code.CHAT_NOT_FOUND
    assert await code_of(manage.add(chat, by(DORA), [BEN])) is Code.CHAT_NOT_FOUND
    assert await code_of(manage.remove(chat, by(ANNA), ANNA)) is Code.FORBIDDEN
    assert await use_cases.kinds(chat) == [EntryKind.CREATE]


async def test_roles_and_the_handing_over_of_a_group(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN, CLEO)
    await use_cases.manage.change_role(chat, by(ANNA), BEN, Role.ADMIN)
    await use_cases.manage.add(chat, by(BEN), [DORA])
    assert await code_of(use_cases.manage.change_role(chat, by(BEN), DORA, Role.ADMIN)) is Code.FORBIDDEN
    await use_cases.manage.transfer(chat, by(ANNA), BEN)
    await use_cases.manage.remove(chat, by(ANNA), ANNA)
    owner = await use_cases.rows.membership(chat, BEN)
    assert owner is not None
    assert owner.role is Role.OWNER
    assert await code_of(use_cases.manage.change_role(chat, by(BEN), ANNA, Role.ADMIN)) is Code.NOT_A_MEMBER


async def test_renaming_is_an_entry_and_a_row(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group()
    await use_cases.manage.rename(chat, by(ANNA), "new")
    row = await use_cases.rows.chat(chat)
    newest = await use_cases.log.newest(chat)
    assert row is not None
    assert newest is not None
    assert (row.name, newest.kind, newest.name) == ("new", EntryKind.RENAME, "new")


async def test_concurrent_adds_both_succeed_and_the_count_is_exact(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    other = ChatCommands(
        use_cases.rows,
        Appender(AppendDeps(use_cases.log, use_cases.rows.member_status, SystemClock(), epoch=initial_epoch)),
    )
    adding = [
        manage.add(chat, by(ANNA), [UserId(f"{name}{n}")])
        for n in range(3)
        for name, manage in (("x", use_cases.manage), ("y", other))
    ]
    await asyncio.gather(*adding)
    row = await use_cases.rows.chat(chat)
    assert row is not None
    assert row.member_count == 8
    assert await use_cases.kinds(chat) == [EntryKind.CREATE] + [EntryKind.JOIN] * 6


async def test_a_block_silences_both_and_is_fenced_by_the_log(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    await use_cases.send(chat, BEN)
    await use_cases.manage.block(use_cases.tenant, by(ANNA), BEN)
    assert await code_of(use_cases.send(chat, BEN)) is Code.BLOCKED
    assert await code_of(use_cases.send(chat, ANNA)) is Code.BLOCKED
    await use_cases.manage.block(use_cases.tenant, by(ANNA), BEN, is_blocked=False)
    assert await code_of(use_cases.send(chat, BEN, after=3)) is Code.BLOCKED, (
        "the try from before stays refused"
    )
    await use_cases.send(chat, BEN, after=4)
    assert await use_cases.kinds(chat) == [
        EntryKind.CREATE,
        EntryKind.MESSAGE,
        EntryKind.BLOCK,
        EntryKind.BLOCK,
        EntryKind.MESSAGE,
    ]


async def test_restoring_a_role_does_not_accept_sends_that_were_refused_without_it(
    use_cases: UseCaseEnv,
) -> None:
    chat = await use_cases.group(BEN)
    for role in (Role.ADMIN, Role.MEMBER, Role.ADMIN):
        await use_cases.manage.change_role(chat, by(ANNA), BEN, role)
    waiting = ChangeContext(BEN, ClientKey("waiting"), after=3)
    assert await code_of(use_cases.manage.rename(chat, waiting, "mine")) is Code.FORBIDDEN
    await use_cases.manage.rename(chat, ChangeContext(BEN, ClientKey("anew"), after=4), "ours")
    await use_cases.send(chat, BEN, after=1)


async def test_a_blocked_user_cannot_start_a_chat(use_cases: UseCaseEnv) -> None:
    await use_cases.manage.block(use_cases.tenant, by(ANNA), BEN)
    assert await code_of(use_cases.manage.direct(use_cases.tenant, BEN, ANNA)) is Code.BLOCKED
    await use_cases.manage.block(use_cases.tenant, by(ANNA), BEN, is_blocked=False)
    chat = await use_cases.manage.direct(use_cases.tenant, BEN, ANNA)
    assert await use_cases.kinds(chat) == [EntryKind.CREATE]
