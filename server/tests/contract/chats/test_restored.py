"""Rows of chats and members that were restored to another time than their log."""

import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from fixtures.tables import REGION, Tables
from fixtures.use_cases import ANNA, BEN, CLEO, UseCaseEnv, by, code_of
from msgspec.structs import replace

from tidings.app.wiring.chats import build_chat_store
from tidings.chats.items import membership_key
from tidings.chats.model import Chat, JoinRule, Membership, Role
from tidings.chats.moderation import RulesChange
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, ClientKey, UserId
from tidings.messages.past_log import TABLES_APART_MS
from tidings.schema.tables.control_plane import connect_control_plane
from tidings.schema.tables.declaration import CHAT_MEMBERSHIPS, CHATS, MESSAGES
from tidings.schema.tables.items.chats import chat_key
from tidings.schema.tables.model import Table
from tidings.schema.tables.patterns import chats as patterns

DORA, EMIL = UserId("dora"), UserId("emil")
USERS = (ANNA, BEN, CLEO, DORA, EMIL)
type RawItem = dict[str, Any]


@dataclass
class Instant:
    """The items of a chat at one time."""

    log: list[RawItem]
    members: list[RawItem]
    chats: list[RawItem]


class ChatTables:
    """The items of one chat in the engine, below the product."""

    def __init__(self, tables: Tables, chat: ChatKey) -> None:
        self._engine = connect_control_plane(tables.url, REGION)
        self._prefix = tables.prefix
        self._chat = chat

    def now(self) -> Instant:
        return Instant(self._read(MESSAGES), self._read(CHAT_MEMBERSHIPS), self._read(CHATS))

    def put_back(self, log: Instant, rows: Instant) -> None:
        """Restore the log as of one instant, and the rows as of another one."""
        self._replace(MESSAGES, log.log)
        self._replace(CHAT_MEMBERSHIPS, rows.members)
        self._replace(CHATS, rows.chats)

    def _read(self, table: Table) -> list[RawItem]:
        values = {":c": {"S": chat_key(self._chat)}}
        name = self._prefix + table.name
        found: list[RawItem] = self._engine.query(
            TableName=name,
            KeyConditionExpression="chat_id = :c",
            ExpressionAttributeValues=values,
            ConsistentRead=True,
        )["Items"]
        return found

    def _replace(self, table: Table, items: Sequence[RawItem]) -> None:
        name = self._prefix + table.name
        for item in self._read(table):
            key = {each.name: item[each.name] for each in table.keys}
            self._engine.delete_item(TableName=name, Key=key)
        for item in items:
            self._engine.put_item(TableName=name, Item=item)


def restarted(env: UseCaseEnv) -> None:
    """Begin a new epoch with new processes, as `tidings restore finish` does."""
    env.epoch += 1_000
    env.rows = build_chat_store(env.client, env.clock, lambda: env.epoch)
    env.open_process()


async def rows_of(env: UseCaseEnv, chat: ChatKey) -> tuple[dict[UserId, Membership], Chat | None]:
    found = await env.rows.memberships(chat, USERS)
    return {
        user: row for user, row in found.items() if row.intervals or row.banned_until_ms
    }, await env.rows.chat(chat)


def random_change(env: UseCaseEnv, chat: ChatKey, turn: random.Random) -> Callable[[], Awaitable[object]]:
    user, owner = turn.choice(USERS[1:]), by(ANNA)
    return turn.choice(
        [
            lambda: env.manage.add(chat, owner, [user]),
            lambda: env.manage.add(chat, owner, USERS[1:]),
            lambda: env.manage.remove(chat, owner, user),
            lambda: env.manage.change_role(chat, owner, user, turn.choice((Role.ADMIN, Role.MEMBER))),
            lambda: env.moderation.mute(chat, owner, user, reason="noise"),
            lambda: env.moderation.unmute(chat, owner, user),
            lambda: env.moderation.ban(chat, owner, user, reason="spam"),
            lambda: env.moderation.unban(chat, owner, user),
            lambda: env.manage.rename(chat, owner, f"name {turn.random()}"),
            lambda: env.moderation.set_rules(
                chat, owner, RulesChange(is_frozen=turn.random() < 0.5, join_rule=turn.choice(list(JoinRule)))
            ),
            lambda: env.send(chat, ANNA, "hello"),
        ]
    )


@pytest.mark.parametrize("seed", range(4))
async def test_rows_agree_with_the_log_for_any_two_instants(
    seed: int, use_cases: UseCaseEnv, tables: Tables
) -> None:
    turn = random.Random(seed)
    chat = await use_cases.group(BEN, CLEO)
    below = ChatTables(tables, chat)
    instants, told = [below.now()], [await rows_of(use_cases, chat)]
    while len(instants) < 14:
        try:
            await random_change(use_cases, chat, turn)()
        except TidingsError:
            continue
        if len((now := below.now()).log) > len(instants[-1].log):
            instants.append(now)
            told.append(await rows_of(use_cases, chat))
    for _ in range(12):
        log, rows = turn.randrange(len(instants)), turn.randrange(len(instants))
        below.put_back(instants[log], instants[rows])
        restarted(use_cases)
        (members, found), (right, chat_then) = await rows_of(use_cases, chat), told[log]
        assert found is not None
        assert chat_then is not None
        assert {user: row.intervals for user, row in members.items() if row.intervals} == {
            user: row.intervals for user, row in right.items() if row.intervals
        }, (log, rows)
        assert (found.member_count, found.is_frozen) == (chat_then.member_count, chat_then.is_frozen)
        assert {row.user for row in await use_cases.rows.members(chat)} == {
            u for u, row in right.items() if row.intervals
        }
        if rows <= log:
            assert members == right, (log, rows)
            assert replace(found, some_members=chat_then.some_members) == chat_then
        assert all(not (row.is_member and row.banned_until_ms) for row in members.values())


async def test_changes_after_a_restore_are_written_to_compared_rows(
    use_cases: UseCaseEnv, tables: Tables
) -> None:
    """Each change finds rows without any read since the restore."""
    chat = await use_cases.group(BEN, CLEO)
    below = ChatTables(tables, chat)
    early = below.now()
    await use_cases.manage.remove(chat, by(ANNA), BEN)
    await use_cases.manage.add(chat, by(ANNA), [DORA])
    below.put_back(below.now(), early)
    restarted(use_cases)
    await use_cases.manage.rename(chat, by(ANNA), "after")
    await use_cases.manage.add(chat, by(ANNA), [BEN, EMIL])
    await use_cases.manage.change_role(chat, by(ANNA), DORA, Role.ADMIN)
    await use_cases.manage.remove(chat, by(ANNA), CLEO)
    await use_cases.moderation.mute(chat, by(DORA), EMIL)
    members, found = await rows_of(use_cases, chat)
    assert {user for user, row in members.items() if row.is_member} == {ANNA, BEN, DORA, EMIL}
    assert len(members[BEN].intervals) == 2
    assert members[DORA].role is Role.ADMIN
    assert found is not None
    assert (found.name, found.member_count) == ("after", 4)
    restarted(use_cases)
    assert await rows_of(use_cases, chat) == (members, found), "the next epoch finds the same"


async def test_a_removed_member_whose_row_is_behind_can_neither_send_nor_read_on(
    use_cases: UseCaseEnv, tables: Tables
) -> None:
    chat = await use_cases.group(BEN)
    below = ChatTables(tables, chat)
    early = below.now()
    await use_cases.manage.remove(chat, by(ANNA), BEN)
    below.put_back(below.now(), early)
    restarted(use_cases)
    assert await code_of(use_cases.send(chat, BEN)) is Code.NOT_A_MEMBER
    sent = await use_cases.send(chat, ANNA, "without Ben")
    page = await use_cases.history.before(chat, BEN, None, 10)
    assert page.entries[0].entry.sequence < sent.sequence


async def test_a_chat_whose_log_is_lost_can_be_created_again(use_cases: UseCaseEnv, tables: Tables) -> None:
    create = ClientKey("once")
    group = await use_cases.manage.group(use_cases.tenant, by(ANNA, create), "us", [BEN])
    direct = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    for chat in (group, direct):
        below = ChatTables(tables, chat)
        now = below.now()
        below.put_back(replace_log(now), now)
    restarted(use_cases)
    assert await code_of(use_cases.send(group, BEN)) is Code.CHAT_NOT_FOUND
    assert await use_cases.rows.chat(group) is None
    assert await use_cases.manage.group(use_cases.tenant, by(ANNA, create), "us", [CLEO]) == group
    assert await use_cases.manage.direct(use_cases.tenant, BEN, ANNA) == direct
    assert {row.user for row in await use_cases.rows.members(group)} == {ANNA, CLEO}
    assert {row.user for row in await use_cases.rows.members(direct)} == {ANNA, BEN}
    await use_cases.send(direct, ANNA)


def replace_log(instant: Instant) -> Instant:
    return Instant([], instant.members, instant.chats)


async def test_a_chat_whose_rows_are_lost_is_built_from_its_log(
    use_cases: UseCaseEnv, tables: Tables
) -> None:
    chat = await use_cases.group(BEN)
    await use_cases.manage.add(chat, by(ANNA), [CLEO])
    before = await rows_of(use_cases, chat)
    below = ChatTables(tables, chat)
    below.put_back(below.now(), Instant([], [], []))
    restarted(use_cases)
    assert {row.user for row in await use_cases.rows.members(chat)} == {ANNA, BEN, CLEO}
    assert await rows_of(use_cases, chat) == before
    page = await use_cases.rows.member_page(chat, None, 10)
    assert {row.user for row in page.items} == {ANNA, BEN, CLEO}
    assert chat.chat in {
        found for found, _ in await use_cases.rows.chats_of(use_cases.tenant, CLEO, None, 10)
    }


@pytest.mark.parametrize("is_blocked", [True, False])
async def test_a_block_that_only_the_log_has_holds(
    *, is_blocked: bool, use_cases: UseCaseEnv, tables: Tables
) -> None:
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    if not is_blocked:
        await use_cases.manage.block(use_cases.tenant, by(ANNA), BEN)
    below = ChatTables(tables, chat)
    early = below.now()
    await use_cases.manage.block(use_cases.tenant, by(ANNA), BEN, is_blocked=is_blocked)
    below.put_back(below.now(), early)
    restarted(use_cases)
    if is_blocked:
        assert await code_of(use_cases.send(chat, BEN)) is Code.BLOCKED
    else:
        await use_cases.send(chat, BEN, after=(await use_cases.entries(chat))[-1].sequence)
    restarted(use_cases)
    await use_cases.manage.block(use_cases.tenant, by(ANNA), BEN, is_blocked=not is_blocked)
    row = await use_cases.rows.membership(chat, BEN)
    assert row is not None
    assert row.blocked_by_other is not is_blocked


async def test_a_late_result_does_not_replace_a_change(use_cases: UseCaseEnv, tables: Tables) -> None:
    """A process has read the row before another one compared and changed it."""
    chat = await use_cases.group(BEN)
    below = ChatTables(tables, chat)
    early = below.now()
    await use_cases.manage.remove(chat, by(ANNA), BEN)
    below.put_back(below.now(), early)
    restarted(use_cases)
    stale = await use_cases.client.get(patterns.CHECK_MEMBER, membership_key(chat, BEN))
    await use_cases.manage.add(chat, by(ANNA), [BEN])
    late = await use_cases.rows._reconciler.membership(chat, BEN, stale)
    row = await use_cases.rows.membership(chat, BEN)
    assert late is not None
    assert not late.is_member, "as of the time of the read"
    assert row is not None
    assert row.is_member


async def test_a_read_only_store_compares_and_writes_nothing(use_cases: UseCaseEnv, tables: Tables) -> None:
    chat = await use_cases.group(BEN)
    below = ChatTables(tables, chat)
    early = below.now()
    await use_cases.manage.remove(chat, by(ANNA), BEN)
    below.put_back(below.now(), early)
    restarted(use_cases)
    stored = below.now()
    rows = build_chat_store(use_cases.client, use_cases.clock, lambda: use_cases.epoch, is_read_only=True)
    row, found = await rows.membership(chat, BEN), await rows.chat(chat)
    assert row is not None
    assert not row.is_member
    assert found is not None
    assert found.member_count == 1
    assert below.now() == stored


async def test_entries_that_are_older_than_the_tables_are_apart_are_not_read_again(
    use_cases: UseCaseEnv,
) -> None:
    """The cost after a restore does not grow with the age of a chat."""
    chat = await use_cases.group(BEN)
    for _ in range(30):
        await use_cases.send(chat, ANNA)
    use_cases.clock.ahead_ms += TABLES_APART_MS + 1
    await use_cases.manage.add(chat, by(ANNA), [CLEO])
    restarted(use_cases)
    past = await use_cases.rows._reconciler._past.end(chat)
    assert [entry.users for entry in past.changes] == [(CLEO,)]
    assert await use_cases.rows.membership(chat, DORA) is None
