"""The chat list on both engines: order, filters, pages, and what a page costs."""

import pytest
from fixtures.chat_list_env import ChatListEnv
from fixtures.use_cases import ANNA, BEN, CLEO, DORA, UseCaseEnv, by, code_of

from tidings.chats.model import ChatType
from tidings.delivery import chat_list
from tidings.delivery.chat_list import ChatListFilter
from tidings.delivery.model import ChatFlags, LastMessageState
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey, UserId
from tidings.schema.tables.patterns import delivery as patterns

APART = ("counters.read_many", "chats.read_many")
"""Patterns of heads and names that are not read together."""


async def some_chats(use_cases: UseCaseEnv, count: int) -> list[ChatKey]:
    """Create direct chats of Anna, with activity a second apart. The oldest is first."""
    chats = []
    for n in range(count):
        use_cases.clock.ahead_ms += 1000
        chat = await use_cases.manage.direct(use_cases.tenant, ANNA, UserId(f"u{n}"))
        await use_cases.send(chat, UserId(f"u{n}"), f"hi {n}")
        chats.append(chat)
    return chats


async def test_the_newest_activity_comes_first_and_pinned_chats_before_all(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    one, two, three = await some_chats(use_cases, 3)
    await lists.deliver()
    assert [each.chat for each in (await lists.page(ANNA)).chats] == [three, two, one]
    use_cases.clock.ahead_ms += 1000
    await use_cases.send(one, ANNA, "again")
    await lists.deliver()
    assert [each.chat for each in (await lists.page(ANNA)).chats] == [one, three, two]
    await lists.list.set_flags(two, ANNA, ChatFlags(is_pinned=True))
    assert [each.chat for each in (await lists.page(ANNA)).chats] == [two, one, three]


async def test_a_user_has_read_up_to_their_own_last_message(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    (chat,) = await some_chats(use_cases, 1)
    sent = await use_cases.send(chat, ANNA, "hello")
    await lists.deliver()
    line = await lists.listed(chat, ANNA)
    assert (line.read_sequence, line.delivered_sequence, line.unread) == (sent.sequence, sent.sequence, 0)


async def test_a_chat_without_messages_is_listed(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.group(BEN, CLEO, DORA)
    await lists.deliver()
    line = await lists.listed(chat, BEN)
    assert (line.name, line.type, line.last, line.unread) == ("us", ChatType.GROUP, None, 0)
    assert (line.member_count, line.members) == (4, (ANNA, CLEO, DORA))
    assert line.at_ms > 0


async def test_the_members_in_a_list_item_are_current_members(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    many = [UserId(f"u{n}") for n in range(20)]
    chat = await use_cases.group(*many)
    await use_cases.manage.remove(chat, by(many[0]), many[0])
    await use_cases.manage.add(chat, by(ANNA), [BEN, CLEO])
    await lists.deliver()
    members = (await lists.listed(chat, many[5])).members
    assert set(members) == {ANNA, many[1], many[2], many[3], BEN}


async def test_filters_select_chats(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    muted, pinned, archived, read, left = [
        await use_cases.manage.group(use_cases.tenant, by(BEN), f"g{n}", [ANNA]) for n in range(5)
    ]
    for chat in (muted, pinned, archived, read, left):
        await use_cases.send(chat, BEN)
    await use_cases.manage.remove(left, by(ANNA), ANNA)
    await lists.deliver()
    await lists.marking.read(read, ANNA, 2)
    until_ms = use_cases.clock.now_ms() + 60_000
    await lists.list.set_flags(muted, ANNA, ChatFlags(muted_until_ms=until_ms))
    await lists.list.set_flags(pinned, ANNA, ChatFlags(is_pinned=True, muted_until_ms=until_ms))
    await lists.list.set_flags(pinned, ANNA, ChatFlags(muted_until_ms=0))
    await lists.list.set_flags(archived, ANNA, ChatFlags(is_archived=True))

    async def chats(only: ChatListFilter) -> set[ChatKey]:
        return {each.chat for each in (await lists.page(ANNA, only)).chats}

    assert await chats(ChatListFilter.ACTIVE) == {muted, pinned, read}
    assert await chats(ChatListFilter.UNREAD) == {muted, pinned}
    assert await chats(ChatListFilter.PINNED) == {pinned}
    assert await chats(ChatListFilter.MUTED) == {muted}
    assert await chats(ChatListFilter.ARCHIVED) == {archived}
    assert await chats(ChatListFilter.LEFT) == {left}
    assert (await lists.page(ANNA)).unread_chats == 2
    use_cases.clock.ahead_ms += 61_000
    assert await chats(ChatListFilter.MUTED) == set()


async def test_flags_apply_only_to_the_member_who_sets_them(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.group(BEN)
    await lists.deliver()
    await lists.list.set_flags(chat, BEN, ChatFlags(muted_until_ms=1_900_000_000_000))
    assert (await lists.listed(chat, BEN)).muted_until_ms == 1_900_000_000_000
    assert (await lists.listed(chat, ANNA)).muted_until_ms is None
    assert await code_of(lists.list.set_flags(chat, DORA, ChatFlags(is_pinned=True))) is Code.CHAT_NOT_FOUND
    assert await code_of(lists.list.set_flags(chat, BEN, ChatFlags())) is Code.REQUEST_INVALID
    assert len(await use_cases.kinds(chat)) == 1, "it is no entry: nobody else is concerned"


async def test_pages_are_complete_without_duplicates_while_messages_arrive(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chats = await some_chats(use_cases, 7)
    await lists.deliver()
    await lists.list.set_flags(chats[0], ANNA, ChatFlags(is_pinned=True))
    first = await lists.page(ANNA, limit=3)
    use_cases.clock.ahead_ms += 1000
    await use_cases.send(chats[5], ANNA, "moves up within what was shown")
    await use_cases.send(chats[2], ANNA, "moves up from a later page")
    await lists.deliver()
    second = await lists.page(ANNA, after=first.after, limit=3)
    assert [each.chat for each in first.chats] == [chats[0], chats[6], chats[5]]
    assert [each.chat for each in second.chats] == [chats[4], chats[3], chats[1]]
    assert second.after is None


async def test_a_page_costs_one_query_and_one_batch_of_heads_and_names(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    await some_chats(use_cases, 10)
    for n in range(10):
        await use_cases.manage.group(use_cases.tenant, by(ANNA), f"g{n}", [BEN])
    await lists.deliver()
    await lists.page(ANNA)
    ledger = use_cases.client.ledger
    rows, groups = ledger["chat_list.read"], ledger["counters.read_groups"]
    assert (rows.calls, groups.calls) == (1, 1)
    assert {row.pattern for row in ledger if row.name == "calls"}.isdisjoint(APART)
    assert rows.read_units <= 2, "20 rows of less than 400 bytes"
    assert groups.read_units == 15, "ten groups: a unit for each head, half of one for each name"


async def test_heads_and_names_of_many_groups_are_read_apart_and_only_those_of_the_page(
    use_cases: UseCaseEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_list, "_MAX_TOGETHER", 2)
    lists = ChatListEnv(use_cases)
    for n in range(3):
        await use_cases.manage.group(use_cases.tenant, by(ANNA), f"g{n}", [BEN])
    await lists.deliver()
    page = await lists.page(ANNA, limit=2)
    assert [each.name for each in page.chats] == ["g2", "g1"]
    heads, names = (use_cases.client.ledger[pattern] for pattern in APART)
    assert (heads.calls, heads.read_units, names.calls, names.read_units) == (1, 3, 1, 1)


async def test_blocks_are_stored_with_the_rows_and_not_listed(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    await use_cases.manage.block(use_cases.tenant, by(ANNA), DORA)
    (chat,) = await some_chats(use_cases, 1)
    await lists.deliver()
    assert [each.chat for each in (await lists.page(ANNA)).chats] == [chat]


async def test_a_tampered_preview_does_not_fail_the_list(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    one, two = await some_chats(use_cases, 2)
    await lists.deliver()
    await use_cases.client.update(
        patterns.REPAIR_ROW,
        {"user_id": f"{use_cases.tenant}#{ANNA}", "chat_id": f"{use_cases.tenant}#{one.chat}"},
        "SET last_preview = :p",
        values={":p": b"altered"},
    )
    last = (await lists.listed(one, ANNA)).last
    assert last is not None
    assert last.state is LastMessageState.UNREADABLE
    assert await lists.text(two, ANNA) == "hi 1"
