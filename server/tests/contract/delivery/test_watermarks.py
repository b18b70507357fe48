"""Watermarks on both engines, and the delivery statuses derived from them."""

import asyncio

from fixtures.chat_list_env import ChatListEnv
from fixtures.use_cases import ANNA, BEN, CLEO, DORA, UseCaseEnv, asked, by, code_of

from tidings.delivery.chat_list import ChatListFilter
from tidings.delivery.model import DeliveryStatus, MessageStatus
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey, UserId


async def test_reading_lowers_unread_and_the_watermark_never_moves_back(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    for _ in range(5):
        await use_cases.send(chat, ANNA)
    await lists.deliver()
    assert await lists.marking.read(chat, BEN, 4) == (4, 2)
    assert await lists.marking.read(chat, BEN, 3) == (4, 2)
    assert await lists.unread(chat, BEN) == 2
    assert await lists.marking.delivered(chat, BEN, 6) == (6, 2)
    assert await lists.marking.delivered(chat, BEN, 2) == (6, 2)


async def test_marking_as_read_costs_one_write_unit(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    await use_cases.send(chat, ANNA, "x" * 300)
    await lists.deliver()
    await lists.marking.read(chat, BEN, 2)
    row = use_cases.client.ledger["watermarks.raise_read"]
    assert (row.calls, row.write_units) == (1, 1)
    read = [use_cases.client.ledger[name] for name in ("memberships.check", "messages.read_one")]
    before = [row.read_units for row in read]
    await lists.marking.read(chat, BEN, 2)
    assert [row.read_units for row in read] == [units + 1 for units in before]


async def test_only_messages_count_as_unread(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.group(BEN)
    sent = await use_cases.send(chat, ANNA)
    await use_cases.change.react(asked(chat, BEN, sent.sequence), "+1")
    await use_cases.manage.rename(chat, by(ANNA), "we")
    await lists.deliver()
    assert await lists.unread(chat, BEN) == 1
    assert await lists.marking.read(chat, BEN, 4) == (4, 0)


async def test_a_watermark_above_the_head_or_outside_an_interval_is_rejected(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.group(BEN)
    await use_cases.send(chat, ANNA)
    await use_cases.manage.add(chat, by(ANNA), [CLEO])
    await use_cases.send(chat, ANNA)
    await lists.deliver()
    read = lists.marking.read
    assert await code_of(read(chat, BEN, 5)) is Code.POSITION_AHEAD
    assert await code_of(lists.marking.delivered(chat, BEN, 5)) is Code.POSITION_AHEAD
    assert await code_of(read(chat, CLEO, 2)) is Code.MESSAGE_NOT_FOUND
    assert await code_of(read(chat, BEN, 0)) is Code.MESSAGE_NOT_FOUND
    assert await code_of(read(chat, DORA, 1)) is Code.CHAT_NOT_FOUND
    await use_cases.manage.remove(chat, by(BEN), BEN)
    assert await code_of(read(chat, BEN, 2)) is Code.NOT_A_MEMBER
    assert (await lists.row(chat, BEN)).read is None


async def test_concurrent_watermarks_end_at_the_highest(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    for _ in range(10):
        await use_cases.send(chat, ANNA)
    await asyncio.gather(lists.deliver(), *(lists.marking.read(chat, BEN, n) for n in range(11, 1, -1)))
    assert (await lists.row(chat, BEN)).read == (11, 10)
    assert await lists.unread(chat, BEN) == 0


async def test_a_watermark_before_its_row_exists_is_kept(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    await use_cases.send(chat, ANNA)
    assert await lists.marking.read(chat, BEN, 2) == (2, 0)
    assert (await lists.page(BEN)).chats == (), "a row that has a watermark alone is not listed yet"
    assert (await lists.page(BEN, ChatListFilter.LEFT)).chats == ()
    await lists.deliver()
    assert await lists.unread(chat, BEN) == 0


async def status_of(lists: ChatListEnv, chat: ChatKey, user: UserId, sequence: int) -> MessageStatus:
    entry = await lists.use_cases.reader.one(chat, sequence)
    assert entry is not None
    return (await lists.statuses.of(chat, user, [entry]))[0]


async def test_delivery_status_follows_the_watermarks(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.group(BEN, CLEO)
    await use_cases.send(chat, ANNA)
    await lists.deliver()

    async def tick() -> tuple[DeliveryStatus, tuple[UserId, ...], tuple[UserId, ...]]:
        status = await status_of(lists, chat, ANNA, 2)
        return status.status, status.delivered_to, status.read_by

    assert await tick() == (DeliveryStatus.SENT, (), ())
    await lists.marking.delivered(chat, BEN, 2)
    assert await tick() == (DeliveryStatus.SENT, (BEN,), ())
    await lists.marking.read(chat, CLEO, 2)
    assert await tick() == (DeliveryStatus.DELIVERED, (BEN, CLEO), (CLEO,))
    await use_cases.send(chat, BEN, "an answer")
    await lists.deliver()
    assert await tick() == (DeliveryStatus.READ, (BEN, CLEO), (BEN, CLEO))
    assert (await status_of(lists, chat, BEN, 3)).status is DeliveryStatus.SENT


async def test_former_and_later_members_do_not_affect_delivery_status(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.group(BEN, CLEO)
    await use_cases.send(chat, ANNA)
    await use_cases.manage.remove(chat, by(CLEO), CLEO)
    await use_cases.manage.add(chat, by(ANNA), [DORA])
    await lists.deliver()
    await lists.marking.read(chat, BEN, 2)
    assert (await status_of(lists, chat, ANNA, 2)).status is DeliveryStatus.READ
    assert await code_of(status_of(lists, chat, DORA, 2)) is Code.MESSAGE_NOT_FOUND


async def test_delivery_status_of_a_page_of_any_length_costs_two_reads(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    for _ in range(20):
        await use_cases.send(chat, ANNA)
    await lists.hand(chat, lists.committed())
    entries = await use_cases.reader.between(chat, 1, 21)
    ledger = use_cases.client.ledger
    members = ledger["memberships.list"].calls
    assert len(await lists.statuses.of(chat, ANNA, entries)) == 20
    assert ledger["memberships.list"].calls - members == 1
    assert (ledger["watermarks.read_members"].calls, ledger["watermarks.read_members"].read_units) == (
        1,
        1,
    )
