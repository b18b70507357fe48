"""The cache of direct chats has their two members and nothing that may change."""

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from tidings.chats.model import Chat, ChatType, Membership, Role, direct_chat_key, group_chat_key
from tidings.chats.queries import PAIR_KEEP_S, DirectChatCache
from tidings.chats.rules import PERMISSIONS, ChatAction
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import ChatKey, ClientKey, TenantId, UserId
from tidings.messages.model import Interval

ACME = TenantId("acme")
ANNA, BEN, CLEO = map(UserId, ("anna", "ben", "cleo"))
DIRECT = direct_chat_key(ACME, ANNA, BEN)
GROUP = group_chat_key(ACME, ANNA, ClientKey("1"))
STAY = (Interval(0),)


class ManualClock(SystemClock):
    at_s = 0.0

    def monotonic(self) -> float:
        return self.at_s


class Table:
    """Membership rows, and the number of reads."""

    def __init__(self) -> None:
        self.rows: dict[ChatKey, list[Membership]] = {}
        self.reads: Counter[str] = Counter()

    def add(self, chat: ChatKey, *users: UserId) -> None:
        self.rows[chat] = [Membership(user=user, role=Role.MEMBER, intervals=STAY) for user in users]

    async def chat(self, chat: ChatKey) -> Chat | None:
        raise NotImplementedError

    async def membership(self, chat: ChatKey, user: UserId) -> Membership | None:
        self.reads["one"] += 1
        return next((row for row in self.rows.get(chat, ()) if row.user == user), None)

    async def members(self, chat: ChatKey) -> Sequence[Membership]:
        self.reads["all"] += 1
        return self.rows.get(chat, [])


def test_the_members_of_a_direct_chat_never_change() -> None:
    changing = {
        ChatAction.LEAVE,
        ChatAction.ADD_MEMBERS,
        ChatAction.REMOVE_MEMBER,
        ChatAction.REMOVE_ADMIN,
        ChatAction.TRANSFER,
    }
    for (kind, _), rights in PERMISSIONS.items():
        assert kind is ChatType.GROUP or not rights & changing, "what is kept of direct chats could age"


async def test_the_two_members_are_read_once_and_cached() -> None:
    table = Table()
    table.add(DIRECT, ANNA, BEN)
    directs = DirectChatCache(table)
    assert await directs.intervals(DIRECT, ANNA) == STAY
    assert await directs.intervals(DIRECT, BEN) == STAY
    assert [row.user for row in await directs.members(DIRECT)] == [ANNA, BEN]
    assert table.reads == {"all": 1}


async def test_a_non_member_costs_the_same_reads_for_existing_missing_and_cached_chats() -> None:
    table = Table()
    directs = DirectChatCache(table)
    assert await directs.intervals(DIRECT, CLEO) == ()
    assert table.reads == {"all": 1}
    table.add(DIRECT, ANNA, BEN)
    for times in (2, 3):
        assert await directs.intervals(DIRECT, CLEO) == ()
        assert table.reads == {"all": times}


async def test_a_chat_created_after_a_look_up_is_found() -> None:
    table = Table()
    directs = DirectChatCache(table)
    assert await directs.intervals(DIRECT, ANNA) == ()
    assert await directs.members(DIRECT) == ()
    table.add(DIRECT, ANNA, BEN)
    assert await directs.intervals(DIRECT, ANNA) == STAY


async def test_a_group_is_read_each_time() -> None:
    table = Table()
    table.add(GROUP, ANNA, BEN)
    directs = DirectChatCache(table)
    assert await directs.intervals(GROUP, BEN) == STAY
    table.add(GROUP, ANNA)
    assert await directs.intervals(GROUP, BEN) == ()
    assert [row.user for row in await directs.members(GROUP)] == [ANNA]


async def test_blocks_are_not_cached() -> None:
    table = Table()
    table.add(DIRECT, ANNA, BEN)
    table.rows[DIRECT] = [replace(row, blocks_other=True, right_since=7) for row in table.rows[DIRECT]]
    kept = await DirectChatCache(table).members(DIRECT)
    assert [(row.blocks_other, row.blocked_by_other, row.right_since) for row in kept] == [
        (False, False, 0)
    ] * 2


async def test_a_pair_with_a_block_is_read_each_time() -> None:
    table = Table()
    table.add(DIRECT, ANNA, BEN)
    table.rows[DIRECT] = [replace(row, blocks_other=row.user == ANNA) for row in table.rows[DIRECT]]
    directs = DirectChatCache(table)
    await directs.members(DIRECT)
    table.add(DIRECT, CLEO, BEN)
    assert [row.user for row in await directs.members(DIRECT)] == [CLEO, BEN]


async def test_a_pair_is_read_again_when_it_has_expired() -> None:
    table, clock = Table(), ManualClock()
    table.add(DIRECT, ANNA, BEN)
    directs = DirectChatCache(table, clock=clock)
    await directs.members(DIRECT)
    table.add(DIRECT, CLEO, BEN)
    clock.at_s = PAIR_KEEP_S - 1
    assert [row.user for row in await directs.members(DIRECT)] == [ANNA, BEN]
    clock.at_s = PAIR_KEEP_S
    assert [row.user for row in await directs.members(DIRECT)] == [CLEO, BEN]


async def test_the_cache_is_bounded_and_evicts_the_least_recently_used_chat() -> None:
    table = Table()
    chats = [direct_chat_key(ACME, ANNA, UserId(f"user{n}")) for n in range(3)]
    for n, chat in enumerate(chats):
        table.add(chat, ANNA, UserId(f"user{n}"))
    directs = DirectChatCache(table, max_chats=2)
    for chat in (chats[0], chats[1], chats[0], chats[2], chats[0]):
        await directs.members(chat)
    assert table.reads == {"all": 3}
    await directs.members(chats[1])
    assert table.reads == {"all": 4}
