"""Take an erased user out of their chats, on both engines."""

import asyncio

from fixtures.use_cases import ANNA, BEN, CLEO, DORA, UseCaseEnv, by, code_of

from tidings.accounts.store.erasure import DynamoUserEraser
from tidings.chats.erasure import ChatDepartures
from tidings.chats.model import JoinRule, Role
from tidings.chats.moderation import RulesChange
from tidings.chats.store import DynamoMembershipEraser
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, ClientKey, ErasedUser, UserId, initial_epoch
from tidings.messages.model import EntryKind
from tidings.messages.past_log import PastLog

GONE = ErasedUser(ANNA, UserId("erased-abcdefghijklmnopqrstuvwxyz"))
KEY = ClientKey("erasure/01M7Q7YT1FMEJH4B4KBTWBBXBZ")


async def depart(env: UseCaseEnv, chat: ChatKey, user: UserId = ANNA) -> None:
    await ChatDepartures(env.commands, env.rows).depart(chat, user, KEY)


def eraser(env: UseCaseEnv) -> DynamoMembershipEraser:
    return DynamoMembershipEraser(env.client, env.clock, PastLog(env.reader, initial_epoch, None))


async def move(env: UseCaseEnv, chat: ChatKey, erased: ErasedUser = GONE) -> bool:
    return await eraser(env).move(chat, erased)


async def owner(env: UseCaseEnv, chat: ChatKey) -> UserId:
    return next(row.user for row in await env.rows.members(chat) if row.role is Role.OWNER)


async def test_an_owner_transfers_the_group_to_the_oldest_admin_and_leaves(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN, CLEO)
    await use_cases.manage.change_role(chat, by(ANNA), CLEO, Role.ADMIN)
    for _ in range(2):
        await depart(use_cases, chat)
    assert (await use_cases.kinds(chat))[2:] == [EntryKind.ROLE, EntryKind.LEAVE]
    assert await owner(use_cases, chat) == CLEO
    assert await use_cases.commands.member_count(chat) == 2


async def test_without_admins_the_member_who_joined_first_becomes_the_owner(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(CLEO)
    await use_cases.manage.add(chat, by(ANNA), [BEN])
    await depart(use_cases, chat)
    assert await owner(use_cases, chat) == CLEO


async def test_an_owner_without_other_members_stays_until_the_membership_moves(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group()
    await depart(use_cases, chat)
    assert await use_cases.kinds(chat) == [EntryKind.CREATE]
    assert await move(use_cases, chat)
    assert await owner(use_cases, chat) == GONE.pseudonym


async def test_the_other_user_of_a_direct_chat_cannot_send_any_more(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    for _ in range(2):
        await depart(use_cases, chat)
    assert await use_cases.kinds(chat) == [EntryKind.CREATE, EntryKind.BLOCK]
    assert await move(use_cases, chat)
    use_cases.open_process()
    assert await code_of(use_cases.send(chat, BEN, after=2)) is Code.BLOCKED


async def test_both_users_of_a_direct_chat_can_be_erased(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    other = ErasedUser(BEN, UserId("erased-bbbbbbbbbbbbbbbbbbbbbbbbbb"))
    await depart(use_cases, chat)
    await move(use_cases, chat)
    await depart(use_cases, chat, BEN)
    await move(use_cases, chat, other)
    assert {row.user for row in await use_cases.rows.members(chat)} == {GONE.pseudonym, other.pseudonym}


async def test_no_row_of_the_chat_names_the_user_after_the_move(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    await use_cases.manage.add(chat, by(ANNA), [CLEO])
    before = await use_cases.rows.membership(chat, ANNA)
    await depart(use_cases, chat)
    assert await move(use_cases, chat)
    assert not await move(use_cases, chat)
    found = await use_cases.rows.chat(chat)
    moved = await use_cases.rows.membership(chat, GONE.pseudonym)
    assert found is not None
    assert moved is not None
    assert before is not None
    assert (found.created_by, found.member_count) == (GONE.pseudonym, 2)
    assert ANNA not in found.some_members
    assert moved.intervals[0].joined == before.intervals[0].joined
    assert moved.intervals[0].removed == len(await use_cases.entries(chat))
    assert await use_cases.rows.membership(chat, ANNA) is None


async def test_the_list_of_memberships_is_empty_when_all_are_moved(use_cases: UseCaseEnv) -> None:
    chats = [await use_cases.group(BEN), await use_cases.manage.direct(use_cases.tenant, ANNA, DORA)]
    assert {chat for chat, _ in await eraser(use_cases).chats_of(use_cases.tenant, ANNA, None, 10)} == {
        chat.chat for chat in chats
    }
    for chat in chats:
        await move(use_cases, chat)
    assert await eraser(use_cases).chats_of(use_cases.tenant, ANNA, None, 10) == []


async def test_two_workers_move_a_membership_once(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    outcomes = await asyncio.gather(*(move(use_cases, chat) for _ in range(4)), return_exceptions=True)
    assert outcomes.count(True) == 1
    refused = [error for error in outcomes if isinstance(error, BaseException)]
    assert all(isinstance(error, TidingsError) and error.retryable for error in refused)
    assert [row.user for row in await use_cases.rows.members(chat)] == [BEN, GONE.pseudonym]


async def fence(env: UseCaseEnv, user: UserId = DORA) -> None:
    await DynamoUserEraser(env.client).fence(env.tenant, user, env.clock.now_ms())


async def test_no_chat_is_created_with_an_erased_user(use_cases: UseCaseEnv) -> None:
    manage, tenant = use_cases.manage, use_cases.tenant
    await fence(use_cases)
    for pair in ((ANNA, DORA), (DORA, ANNA)):
        assert await code_of(manage.direct(tenant, *pair)) is Code.USER_ERASED
    assert await code_of(manage.group(tenant, by(ANNA), "us", [BEN, DORA])) is Code.USER_ERASED
    assert await code_of(manage.group(tenant, by(DORA), "us", [BEN])) is Code.USER_ERASED
    assert await eraser(use_cases).chats_of(tenant, DORA, None, 10) == []


async def test_a_chat_from_before_the_erasure_is_found(use_cases: UseCaseEnv) -> None:
    manage, tenant = use_cases.manage, use_cases.tenant
    direct = await manage.direct(tenant, ANNA, DORA)
    group = await manage.group(tenant, caller := by(ANNA), "us", [DORA])
    await fence(use_cases)
    assert await manage.direct(tenant, ANNA, DORA) == direct
    assert await manage.group(tenant, caller, "us", [DORA]) == group, "a retry"


async def test_an_erased_user_becomes_no_member(use_cases: UseCaseEnv) -> None:
    chat, joins = await use_cases.group(BEN), use_cases.joins
    await use_cases.moderation.set_rules(chat, by(ANNA), RulesChange(join_rule=JoinRule.OPEN))
    await joins.invite(chat, by(ANNA), [DORA])
    await fence(use_cases)
    refused = (
        use_cases.commands.add(chat, by(ANNA), [CLEO, DORA]),
        joins.invite(chat, by(ANNA), [CLEO, DORA]),
        joins.join(chat, by(DORA)),
        joins.accept(chat, by(DORA)),
        use_cases.moderation.ban(chat, by(ANNA), DORA),
    )
    for change in refused:
        assert await code_of(change) is Code.USER_ERASED
    assert await use_cases.rows.memberships(chat, [CLEO, DORA]) == {}
    assert await code_of(use_cases.commands.add(chat, by(CLEO), [DORA])) is Code.CHAT_NOT_FOUND, "a stranger"


async def test_a_job_adds_everyone_but_the_erased_user(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    await fence(use_cases)
    assert await use_cases.commands.add_chunk(chat, by(ANNA), [CLEO, DORA]) == [DORA]
    assert set(await use_cases.rows.memberships(chat, [CLEO, DORA])) == {CLEO}


async def test_a_pseudonym_becomes_no_member_again(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    await depart(use_cases, chat)
    await move(use_cases, chat)
    use_cases.open_process()
    assert await code_of(use_cases.commands.add(chat, by(BEN), [GONE.pseudonym])) is Code.USER_ERASED
    assert await code_of(use_cases.commands.direct(use_cases.tenant, BEN, GONE.pseudonym)) is Code.USER_ERASED


async def test_adding_a_user_reads_half_a_unit_more(use_cases: UseCaseEnv) -> None:
    await use_cases.rows.erased(use_cases.tenant, [BEN, CLEO])
    (units,) = [count.value for count in use_cases.client.ledger if count.name == "read_units"]
    assert units == 1
